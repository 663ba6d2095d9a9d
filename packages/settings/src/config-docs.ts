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

The service reads \`/etc/svc/control.yaml\`, or the file that \`--config\` names. The file at the default path may be absent. A file
that you name must exist. A flag wins over a variable, a variable over the file, the file over the default.

\`svc config check FILE\` checks a file and starts nothing.

## Rules

- An unknown key, a wrong type or a wrong value stops the start. Each problem gets one line: its place (\`file:line:column\`, the
  variable or the flag), the key, and what is allowed.
- Write \`mcc\` and \`mnc\` in quotes: YAML reads \`05\` as the number 5.
- In a variable, separate the items of a list by commas. A boolean is \`true\`, \`1\`, \`yes\`, \`false\`, \`0\` or \`no\`. An empty
  variable counts as not set. An unknown \`SVC_\` variable gives a warning in the log.
- A duration is numbers with the units \`ms s m h d w y\`: \`15s\`, \`1h30m\`.
- Put no secret into the file. \`SVC_ADMIN_TOKEN\` (or the variable that \`auth.admin_token_env\` names) holds the admin bearer
  token and is not a key. Keys of the service are files under \`<data_dir>/keys\`.
- SIGHUP reads the file again. During a start it waits until the service listens. The table says when a change takes effect. The log
  names changes that need a new start.
- A plugin has its own keys, in the schema that its manifest names (\`steeple.config\`). The service, the commands and SIGHUP read
  the schemas of the build and of installed plugins, and run no plugin for it.
- A key of a plugin that is absent gives a warning. \`enabled: true\` of a plugin that this build lacks is an error.
- An installed plugin waits in the state \`needs_config\` while a required key has no value or a wrong one. Correct it and send SIGHUP.
- The value of a secret key is the path of a file with the secret. \`svc secret set PLUGIN KEY\` seals the secret in the store
  instead.

## Keys

| Key | Meaning | Type | Default | Variable, flag | A change takes effect | Plugin |
|---|---|---|---|---|---|---|`
