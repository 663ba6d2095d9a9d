import { CONFIG_SCHEMA, DURATION_PATTERN, type JsonSchema } from '@steeple/contracts'
import { FLAG_KEYS } from './config-sources.ts'
import { ASKED_BY_KEY } from './describe-problem.ts'
import { environmentTable } from './environment.ts'
import { leavesOf } from './schema-tree.ts'

const APPLY_WORDS = { hot: 'at once', reload: 'its plugin is reloaded', restart: 'next start' } as const

/** The text of docs/configuration.md, made from the schema. */
export function configDocs(): string {
  const variables = new Map(environmentTable(CONFIG_SCHEMA).map((row) => [row.key, row]))
  const flags = new Map(Object.entries(FLAG_KEYS).map(([flag, key]) => [key as string, flag]))
  const rows = leavesOf(CONFIG_SCHEMA).map(({ path, schema, apply }) => {
    const key = path.join('.')
    const row = variables.get(key)
    const variable =
      row === undefined ? '' : `\`${row.variable}\`${row.isInverted ? ' (true means false)' : ''}`
    const flag = flags.get(key)
    const setters = [variable, flag === undefined ? '' : `\`${flag}\``]
      .filter((text) => text !== '')
      .join(', ')
    return `| \`${key}\` | ${(ASKED_BY_KEY[key] ?? typeText(schema)).replaceAll('<', '\\<')} | ${defaultText(schema.default)} | ${setters} | ${APPLY_WORDS[apply]} |`
  })
  return `${INTRODUCTION}\n${rows.join('\n')}\n`
}

const INTRODUCTION = `# Configuration

<!-- Made by packages/kernel/scripts/make-config-docs.mjs from the schema. Do not edit. -->

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
- SIGHUP reads the file again. The last column says when a changed value takes effect; what needs a new start is
  named in the log.
- A plugin that is not part of the service has its keys at its own \`config_path\`; its README lists them.

| Key | Type | Default | Variable, flag | A change takes effect |
|---|---|---|---|---|`

function typeText(schema: JsonSchema): string {
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => `\`${value}\``).join(', ')
  if (schema.pattern === DURATION_PATTERN) return 'duration'
  switch (schema.type) {
    case 'integer':
    case 'number':
      return `${schema.type}${rangeText(schema)}`
    case 'array':
      return (schema.items as JsonSchema | undefined)?.type === 'string' ? 'list of strings' : 'list of maps'
    case 'object':
      return 'map'
    default:
      return typeof schema.description === 'string'
        ? schema.description.replace(/\.$/, '')
        : String(schema.type)
  }
}

function rangeText({ minimum, maximum }: JsonSchema): string {
  if (minimum !== undefined && maximum !== undefined) return `, ${minimum} to ${maximum}`
  return minimum === undefined ? '' : `, at least ${minimum}`
}

function defaultText(value: unknown): string {
  if (value === '') return 'empty'
  if (typeof value === 'object' && value !== null) {
    const isEmpty = Object.keys(value).length === 0
    const isTexts = Array.isArray(value) && value.every((item) => typeof item === 'string')
    return isEmpty ? 'empty' : `\`${isTexts ? value.join(', ') : JSON.stringify(value)}\``
  }
  return `\`${String(value)}\``
}
