import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'

const ROOT = join(import.meta.dirname, '../../..')
const FOLDER = join(ROOT, '.changeset')

interface Draft {
  draftOf(changesets: readonly unknown[]): string
  readChangeset(text: string): unknown
}
// A script of the repository, and of no package.
const { draftOf, readChangeset }: Draft = await import(join(ROOT, 'scripts/releases/draft.mjs'))

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

drafts('has no heading for nothing to be minded', () => {
  assert.is(
    draftOf([changeset('api', 'A route answers sooner.')]),
    '### API, command line, packages\n\n- A route answers sooner.\n',
  )
})

drafts('reads every changeset that there is', () => {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.md') && name !== 'README.md')
  const text = draftOf(files.map((name) => readChangeset(readFileSync(join(FOLDER, name), 'utf8'))))
  assert.not.match(text, /^- Mind: /m)
  assert.not.match(text, /^- *$/m)
})

drafts.run()
