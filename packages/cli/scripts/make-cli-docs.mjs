// Writes docs/reference/cli.md from the commands themselves; with --print to standard output.
import { writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { bundledManifests } from '../src/composition/plugin-packages.ts'
import { buildProgram } from '../src/program.ts'

/** Commands ask nothing of a terminal before they run. */
const NO_TERMINAL = { env: {}, cwd: '/', columns: undefined, isWatched: false, out: () => {}, err: () => {} }
/** An option that this many commands have is listed once. */
const MANY = 40

const program = buildProgram(NO_TERMINAL, async () => {})
const owners = ownersOf()
const leaves = leavesOf(program)
const count = new Map()
for (const { command } of leaves)
  for (const { flags } of optionsOf(command)) count.set(flags, (count.get(flags) ?? 0) + 1)
const isCommon = ({ flags }) => (count.get(flags) ?? 0) >= MANY
const common = new Map(
  leaves.flatMap(({ command }) =>
    optionsOf(command)
      .filter(isCommon)
      .map((o) => [o.flags, o]),
  ),
)

const text = `# The command line

<!-- Made by packages/cli/scripts/make-cli-docs.mjs from the commands. Do not edit. -->

\`svc\` alone lists its commands. \`svc <command> --help\` shows the text of this page. \`svc completion bash\` completes words.
Options may stand before or after the command. \`svc serve\` runs the service; options of \`serve\` without a command do the same.

| Exit code | Meaning |
|---|---|
| 0 | done |
| 1 | failed, or the answer is no |
| 2 | wrong command line |

## Options of most commands

${optionList([...common.values()])}

${program.commands.filter(isShown).toSorted(byName).map(group).join('\n\n')}
`
if (process.argv.includes('--print')) process.stdout.write(text)
else writeFileSync(new URL('../../../docs/reference/cli.md', import.meta.url), text)

function group(command) {
  const owner = owners.get(command.name())
  const parts = leavesOf(command).map((leaf) => {
    const own = owners.get(leaf.path.slice(1).join(' '))
    return own === undefined || own === owner ? leafText(leaf) : marked(leafText(leaf), own)
  })
  const title = `## svc ${command.name()}`
  const about =
    command.commands.length > 0 && command.description() !== ''
      ? `\n\n${sentence(command.description())}`
      : ''
  return marked(`${title}${about}\n\n${parts.join('\n\n')}`, owner)
}

function marked(what, owner) {
  return owner === undefined ? what : `<!-- package: ${owner} -->\n${what}\n<!-- /package -->`
}

function leafText({ command, path }) {
  const words = command.registeredArguments.map((one) => {
    const name = `${one.name()}${one.variadic ? '…' : ''}`
    return one.required ? `<${name}>` : `[${name}]`
  })
  const about = command.registeredArguments
    .filter((one) => one.description !== '')
    .map((one) => `- \`${one.name()}\`: ${plain(one.description)}`)
  const options = optionsOf(command).filter((one) => !isCommon(one))
  const list = [...about, ...options.map(optionLine)].join('\n')
  return `\`${[...path, ...words].join(' ')}\`: ${sentence(command.description())}${list === '' ? '' : `\n\n${list}`}`
}

function optionsOf(command) {
  return command.options.filter(({ hidden }) => !hidden)
}

function optionList(options) {
  return options.map(optionLine).join('\n')
}

function optionLine({ flags, description, argChoices }) {
  const choices = argChoices === undefined ? '' : ` (${argChoices.map((one) => `\`${one}\``).join(', ')})`
  return `- \`${flags}\`: ${plain(description)}${choices}`
}

function plain(words) {
  return words
    .replaceAll(/<(?=[a-z])/gi, '\\<')
    .replaceAll('*', '\\*')
    .replaceAll(/\s+/g, ' ')
}

function sentence(words) {
  const text = plain(words)
  const first = `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
  return /[.!?]$/.test(first) ? first : `${first}.`
}

function byName(one, other) {
  return one.name() < other.name() ? -1 : 1
}

function isShown(command) {
  return !command.name().startsWith('__')
}

/** Commands that do something, with the words that lead to them. */
function leavesOf(command) {
  const children = command.commands.filter(isShown)
  return children.length === 0 ? [{ command, path: pathOf(command) }] : children.flatMap(leavesOf)
}

function pathOf(command) {
  return command.parent === null ? ['svc'] : [...pathOf(command.parent), command.name()]
}

/** Which commands are there only with a package, by their words: what the manifest of an optional one adds. */
function ownersOf() {
  // No plugin, and so without a manifest of commands.
  const found = new Map([['lab', 'lab-core']])
  for (const { dir, steeple } of bundledManifests())
    for (const one of steeple.essential === true ? [] : (steeple.commands ?? [])) {
      const words = (one.group ?? one.usage.replace(/ [<[].*/, '')).split(' ')
      // Groups of every build to which plugins add commands of their own.
      found.set(['node', 'sim', 'tx'].includes(words[0]) ? words.join(' ') : words[0], basename(dir))
    }
  return found
}
