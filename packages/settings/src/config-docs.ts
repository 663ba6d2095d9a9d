import { FLAG_KEYS } from './config-sources.ts'
import { environmentTable } from './environment.ts'
import { defaultText, typeText } from './key-words.ts'
import { leavesOf, mergedSchema, ownerOf } from './schema-tree.ts'
import type { Section } from './section.ts'

const APPLY_WORDS = { hot: 'at once', reload: 'its plugin is reloaded', restart: 'next start' } as const

/**
 * The text of docs/reference/configuration.md, made from the service's own schema and those of plugins. `markOf` gives what stands
 * behind the rows of a plugin.
 */
export function configDocs(
  sections: readonly Section[],
  markOf: (plugin: string) => string = () => '',
): string {
  const schema = mergedSchema(sections)
  const variables = new Map(environmentTable(schema).map((row) => [row.key, row]))
  const flags = new Map(Object.entries(FLAG_KEYS).map(([flag, key]) => [key as string, flag]))
  const rows = leavesOf(schema).map(({ path, schema: leaf, apply }) => {
    const key = path.join('.')
    const row = variables.get(key)
    const variable =
      row === undefined ? '' : `\`${row.variable}\`${row.isInverted ? ' (true means false)' : ''}`
    const flag = flags.get(key)
    const setters = [variable, flag === undefined ? '' : `\`${flag}\``]
      .filter((text) => text !== '')
      .join(', ')
    const owner = ownerOf(sections, path)
    const whose =
      owner === undefined ? '' : `${owner.plugin}${owner.origin === 'known' ? ' (not in this build)' : ''}`
    const cells = [
      `\`${key}\``,
      String(leaf.description ?? ''),
      typeText(leaf),
      defaultText(leaf.default),
      setters,
      APPLY_WORDS[apply],
      whose,
    ]
    const mark = owner === undefined ? '' : markOf(owner.plugin)
    return `| ${cells.map(cell).join(' | ')} |${mark}`
  })
  return `${INTRODUCTION}\n${rows.join('\n')}\n`
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/<(?![^`]*`)/g, '\\<')
}

const INTRODUCTION = `# Configuration

<!-- Made by packages/settings/scripts/make-config-docs.mjs from the schema. Do not edit. -->

The service reads \`/etc/svc/control.yaml\`, or the file that \`--config\` names. The file at the default path may be
absent; a file that was named must be there. A flag wins over a variable, a variable over the file, the file over
the default. \`svc config check FILE\` checks a file without starting anything.

- An unknown key, a wrong type or a value that makes no sense stops the start, with one line for each problem: where
  it stands (\`file:line:column\`, the variable or the flag), the key, and what is allowed.
- Write \`mcc\` and \`mnc\` in quotes: YAML reads \`05\` as the number 5.
- A variable of a list is separated by commas. A variable of a boolean is \`true\`, \`1\`, \`yes\`, \`false\`, \`0\` or \`no\`.
  An empty variable counts as not set. An unknown \`SVC_\` variable is a warning in the log.
- A duration is numbers with units \`ms s m h d w y\`: \`15s\`, \`1h30m\`.
- No secret belongs in the file. \`SVC_ADMIN_TOKEN\` (or the variable that \`auth.admin_token_env\` names) holds the admin
  bearer token and is no configuration. Keys are files under \`<data_dir>/keys\`.
- SIGHUP reads the file again; one that comes during a start does so once the service listens. The column before the last says when a
  changed value takes effect; what needs a new start is named in the log.
- Keys belong to plugins: the schema that a plugin's manifest names (\`steeple.config\`) holds all of its keys. The service,
  every command and SIGHUP read those of the build and of what is installed, without running any of it.
- What is set for a plugin that is not there is a warning; \`enabled: true\` of one that this build lacks is an error.
- An installed plugin whose required key has no value, or a wrong one, waits in the state \`needs_config\`; mend it and send SIGHUP.
- The value of a secret key is the path of a file with the secret; \`svc secret set PLUGIN KEY\` seals one in the store
  instead.

| Key | Is | Type | Default | Variable, flag | A change takes effect | Plugin |
|---|---|---|---|---|---|---|`
