// The configuration that a package comes with.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { leavesOf } from '../../packages/settings/src/schema-tree.ts'
import { root } from '../workspace.mjs'
import { manifestOf, packages } from './parts.mjs'

/** The text of a file of the checkout for a build: nobody has a core yet when it is installed, and there is none to push to. */
export function configFor(file, { has }) {
  const text = readFileSync(join(root, file), 'utf8')
  if (!has.includes('driver-hss')) return text
  return `${text}# The subscriber database of your core; none until you name one.\nhss:\n  driver: none\n`
}

/** The keys that plugins read which a build lacks, by the plugin's id: so that it says what they are when they are set. */
export function absentKeys(lacks) {
  const entries = lacks.flatMap((name) => {
    const { id, config } = manifestOf(name).steeple ?? {}
    if (config === undefined) return []
    const schema = JSON.parse(readFileSync(join(packages, name, config), 'utf8'))
    return [[id, leavesOf(schema).map(({ path }) => path.join('.'))]]
  })
  return Object.fromEntries(entries)
}

/** The alert rules of plugins that a build lacks, by the plugin's id: who has switched one off need not change the configuration. */
export function absentRules(lacks) {
  const manifests = lacks.map((name) => manifestOf(name).steeple ?? {})
  return Object.fromEntries(manifests.map(({ id, alerts = {} }) => [id, Object.keys(alerts)]))
}
