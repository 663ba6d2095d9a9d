// Writes docs/reference/cli.md from the commands themselves; with --print to standard output.
import { readdirSync, writeFileSync } from 'node:fs'
import { Command } from 'commander'
import { addCommands } from '../src/commands/api-commands.ts'
import { buildProgram } from '../src/program.ts'

/** Commands ask nothing of a terminal before they run. */
const NO_TERMINAL = { env: {}, cwd: '/', columns: undefined, isWatched: false, out: () => {}, err: () => {} }
/** An option that this many commands have is told once. */
const MANY = 40

const program = buildProgram(NO_TERMINAL, async () => {})
const owners = await ownersOf()
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

\`svc\` without a command runs the service. Each command says the same with \`--help\`, and \`svc completion bash\` completes words.
Exit codes: 0 done; 1 it failed, or the answer is no; 2 it was called wrongly.

## The service

${optionList(program.options)}

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

/** Which commands are there only with a package, by their words: what its part adds to an empty program. */
async function ownersOf() {
  const found = new Map()
  for (const file of readdirSync(new URL('../src/parts/', import.meta.url))) {
    const { part } = await import(`../src/parts/${file}`)
    const name = file.replace(/\.ts$/, '')
    const empty = new Command('svc')
    // Groups of every build to which parts add commands of their own.
    const shared = ['node', 'sim'].map((one) => empty.command(one))
    addCommands(empty, NO_TERMINAL, [...(part.commands ?? []), ...(part.simCommands ?? [])])
    for (const command of empty.commands) if (!shared.includes(command)) found.set(command.name(), name)
    for (const command of shared.flatMap((one) => one.commands))
      found.set(`${command.parent.name()} ${command.name()}`, name)
  }
  return found
}
