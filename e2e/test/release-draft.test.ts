import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { assert, suite } from '@steeple/testkit'

const ROOT = join(import.meta.dirname, '../..')
const FOLDER = join(ROOT, '.changeset')

interface Draft {
  draftOf(changesets: readonly unknown[]): string
  readChangeset(text: string): unknown
}
// A script of the repository, and of no package.
const { draftOf, readChangeset }: Draft = await import(join(ROOT, 'scripts/releases/draft.mjs'))
const { workspaceFolders }: { workspaceFolders(): readonly string[] } = await import(
  join(ROOT, 'scripts/workspace.mjs')
)

const drafts = suite('e2e/release-draft')

function changeset(name: string, text: string): unknown {
  return readChangeset(`---\n"@steeple/${name}": minor\n---\n\n${text}\n`)
}

drafts('begins with what must be minded, and has each changeset below its area', () => {
  const text = draftOf([
    changeset('api', 'A route answers sooner.'),
    changeset('sims', 'Attaches count once.\n\nMind: the way back\nis the copy.'),
    changeset('mesh', 'Mind: links are made anew.'),
  ])
  assert.is(
    text,
    `### Mind, when you upgrade

- the way back
  is the copy.
- links are made anew.

### SIMs and subscribers

- Attaches count once.

### API, command line, packages

- A route answers sooner.
`,
  )
})

drafts('puts a changeset where most of it is: patches beside something new do not count', () => {
  const text = '---\n"@steeple/access": minor\n"@steeple/esim-smdp": patch\n---\n\nProxies are believed.\n'
  assert.is(draftOf([readChangeset(text)]), '### People and access\n\n- Proxies are believed.\n')
})

drafts('has no heading for nothing to be minded', () => {
  assert.is(
    draftOf([changeset('api', 'A route answers sooner.')]),
    '### API, command line, packages\n\n- A route answers sooner.\n',
  )
})

drafts('has an area for each package but those for tests', () => {
  const names = workspaceFolders().map((folder) => basename(folder))
  const others = names.filter((name) => draftOf([changeset(name, 'Something.')]).includes('### Other'))
  assert.equal(others, ['e2e', 'testbed'])
  assert.match(draftOf([changeset('console', 'Something.')]), /^### Console$/m)
})

drafts('has a word on the way back for each step over the store since the last release', () => {
  const page = readFileSync(join(ROOT, 'docs/how-to/upgrade.md'), 'utf8')
  const steps = [...page.matchAll(/`(\d{4}_\w+)`/g)].map(([, id = '']) => id)
  const [, minded = ''] = /^### Mind, when you upgrade\n([\s\S]*?)^### /m.exec(draftOf(all())) ?? []
  assert.equal(
    steps.filter((id) => !minded.includes(id)),
    [],
  )
})

drafts('reads every changeset that there is', () => {
  const text = draftOf(all())
  assert.not.match(text, /^- Mind: /m)
  assert.not.match(text, /^- *$/m)
})

drafts.run()

/** Every changeset that there is, read. */
function all(): readonly unknown[] {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.md') && name !== 'README.md')
  return files.map((name) => readChangeset(readFileSync(join(FOLDER, name), 'utf8')))
}
