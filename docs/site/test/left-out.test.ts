import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { assert, suite } from '@steeple/testkit'
import { readDocumentation } from '../src/pages.ts'

/** What pages of a build say of what it lacks: nothing. Its routes, keys, metrics and codes are looked for in whole builds. */
const leftOut = suite('docs/left-out')

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const REFERENCE = 'reference/cli.md'
const NOTHING: ReadonlySet<string> = new Set()

leftOut('pages name no command of a package that is left out', () => {
  const all = commandsOf(pagesWithout(NOTHING))
  assert.ok(all.length > 80, `${all.length} commands`)
  for (const name of optional()) {
    const pages = pagesWithout(new Set([name]))
    const has = new Set(commandsOf(pages))
    const lost = all.filter((command) => !has.has(command))
    const found = lost.flatMap((command) => pagesWith(pages, new RegExp(`\\b${command}(?![\\w-])`)))
    assert.equal(found, [], `without ${name}`)
  }
})

leftOut('pages know nothing of a lab core that is left out', () => {
  const pages = pagesWithout(new Set(['lab-core']))
  assert.equal(pagesWith(pages, /npm run (-s )?lab\b|bin\/lab\b|\blab\s+core\b/i), [])
})

leftOut.run()

/** The pages of a build that lacks some packages, by path. */
function pagesWithout(lacks: ReadonlySet<string>): ReadonlyMap<string, string> {
  const { pages } = readDocumentation(ROOT, lacks)
  return new Map([...pages].map(([path, { text }]) => [path, text]))
}

/** `svc core plan` and the others, as the reference has them. */
function commandsOf(pages: ReadonlyMap<string, string>): readonly string[] {
  return [...(pages.get(REFERENCE) ?? '').matchAll(/^`(svc [a-z -]+?)(?: [<[].*)?`:/gm)].map(
    ([, command = '']) => command,
  )
}

/** Where something stands: `how-to/core.md: svc core plan`. */
function pagesWith(pages: ReadonlyMap<string, string>, pattern: RegExp): readonly string[] {
  return [...pages].flatMap(([path, text]) => {
    const [found] = pattern.exec(text) ?? []
    return found === undefined ? [] : [`${path}: ${found}`]
  })
}

/** What `npm run build -- --without` takes. */
function optional(): readonly string[] {
  return readdirSync(join(ROOT, 'packages')).filter((name) => {
    if (name === 'lab-core') return true
    const path = join(ROOT, 'packages', name, 'package.json')
    // An older checkout keeps what was built of packages that are no more.
    if (!existsSync(path)) return false
    // Manifests of this repository.
    const { steeple } = JSON.parse(readFileSync(path, 'utf8')) as {
      readonly steeple?: { readonly essential?: boolean }
    }
    return steeple !== undefined && steeple.essential !== true
  })
}
