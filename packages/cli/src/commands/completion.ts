import { Argument, type Command, type Option } from 'commander'
import { connect } from '../client/service.ts'
import { printable } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import { ARGUMENTS as OF_DATA } from './api-commands.ts'
import { placeOptions } from './options.ts'

/** One command, the words that may follow it and the values that they take. */
interface Node {
  readonly path: string
  readonly words: readonly string[]
  /** By option (`--state`), or by place of an argument (`1`, `2`, …). */
  readonly values: ReadonlyMap<string, Values>
}

/** Words that are known here, or what the service is asked for. */
type Values = readonly string[] | LiveKind

/** What arguments and options with these names are, in every command. */
const ARGUMENTS: Readonly<Record<string, LiveKind>> = {
  hash: 'sims',
  sim: 'sims',
  batch: 'batches',
}
const OPTIONS: Readonly<Record<string, LiveKind>> = {
  '--batch': 'batches',
  '--replaces': 'sims',
  '--profile': 'profiles',
  '--apn': 'apns',
  '--sim': 'sims',
}
/** Commands whose argument `name` is a plugin. */
const OF_PLUGINS: readonly string[] = [
  'load',
  'unload',
  'reload',
  'rollback',
  'disable',
  'enable',
  'uninstall',
].map((verb) => `plugin ${verb}`)
const ROLES: readonly string[] = ['viewer', 'operator', 'sim:issuer', 'sim:admin', 'admin']
const LIFECYCLE: readonly string[] = ['provision', 'register', 'on-air', 'peer', 'breakout']

/** `svc completion bash|zsh|fish` */
export function addCompletionCommand(program: Command, terminal: Terminal): void {
  placeOptions(program.command('completion'))
    .description('print a script that completes commands and values: eval "$(svc completion bash)"')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .action((shell: string) => {
      const nodes = tree(program, '')
      terminal.out(shell === 'fish' ? fishScript(nodes) : bashScript(nodes, shell === 'zsh'))
    })
  addValuesCommand(program, terminal)
}

function tree(command: Command, path: string): readonly Node[] {
  const children = command.commands.filter((child) => !child.name().startsWith('__'))
  const inner = children.map((child) => tree(child, `${path} ${child.name()}`.trim()))
  const names = children.map((child) => child.name())
  const options = command.options.map((option) => option.long).filter((long) => typeof long === 'string')
  return [{ path, words: [...names, ...options, '--help'], values: valuesOf(command, path) }, ...inner.flat()]
}

function valuesOf(command: Command, path: string): ReadonlyMap<string, Values> {
  const values = new Map<string, Values>()
  command.registeredArguments.forEach((argument, i) => {
    const own = OF_DATA.get(command)?.[argument.name()]?.values
    const isPlugin = argument.name().startsWith('name') && OF_PLUGINS.includes(path)
    const live = own === undefined ? (isPlugin ? 'plugins' : ARGUMENTS[argument.name()]) : valueWords(own)
    const known = argument.argChoices ?? (path === 'lifecycle move' ? LIFECYCLE : live)
    if (known !== undefined) values.set(String(i + 1), known)
  })
  for (const option of command.options) {
    const known = valuesOfOption(option)
    if (option.long !== undefined && option.long !== null && known !== undefined)
      values.set(option.long, known)
  }
  return values
}

function valuesOfOption({ long, argChoices }: Option): Values | undefined {
  if (argChoices !== undefined) return argChoices
  return long === '--role' ? ROLES : OPTIONS[long ?? '']
}

/** zsh runs the same functions through its `bashcompinit`. */
function bashScript(nodes: readonly Node[], isZsh: boolean): string {
  const cases = nodes.map(({ path, words }) => `    '${path}') words='${words.join(' ')}' ;;`).join('\n')
  const valueCases = (isOption: boolean): string =>
    nodes
      .flatMap(({ path, values }) =>
        [...values]
          .filter(([at]) => at.startsWith('--') === isOption)
          .map(([at, known]) => `        '${path} ${at}') words=${bashWords(known)} ;;`),
      )
      .join('\n')
  return `${isZsh ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''}_svc_completion() {
  local path='' word words='' i place=0 before="\${COMP_WORDS[COMP_CWORD - 1]}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "$word" in -*) continue ;; esac
    case "$path $word" in
${nodes
  .slice(1)
  .map(
    ({ path }) => `      '${path.includes(' ') ? path : ` ${path}`}') path='${path}'; place=0; continue ;;`,
  )
  .join('\n')}
    esac
    case "\${COMP_WORDS[i - 1]}" in --*) ;; *) place=$((place + 1)) ;; esac
  done
  case "$path" in
${cases}
  esac
  case "\${COMP_WORDS[COMP_CWORD]}" in
    -*) ;;
    *) case "$path $before" in
${valueCases(true)}
        *) case "$path $((place + 1))" in
${valueCases(false)}
        esac ;;
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _svc_completion svc
`
}

function bashWords(values: Values): string {
  return typeof values === 'string' ? `"$(svc __values ${values} 2>/dev/null)"` : `'${values.join(' ')}'`
}

function fishScript(nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ path, words, values }) => {
    const names = path === '' ? [] : path.split(' ')
    const seen = names.map((name) => `__fish_seen_subcommand_from ${name}`).join('; and ')
    const condition = seen === '' ? '__fish_use_subcommand' : seen
    const plain = words.map((word) => {
      if (!word.startsWith('--')) return `complete -c svc -n '${condition}' -a ${word}`
      const known = values.get(word)
      const rest = known === undefined ? '' : ` -x -a '${fishWords(known)}'`
      return `complete -c svc -n '${condition}' -l ${word.slice(2)}${rest}`
    })
    const places = [...values]
      .filter(([at]) => !at.startsWith('--'))
      .map(([, known]) => `complete -c svc -n '${condition}' -a '${fishWords(known)}'`)
    return [...plain, ...places]
  })
  return `${lines.join('\n')}\n`
}

function fishWords(values: Values): string {
  return typeof values === 'string' ? `(svc __values ${values} 2>/dev/null)` : values.join(' ')
}

/** Values that only the service knows: a kind, or the words that say where they are (`valueWords`). */
type LiveKind = string

/** A list of the service and which of its fields completes a word. */
interface ValueList {
  readonly path: string
  /** The key of the list in the answer. */
  readonly key: string
  readonly field: string
}

/** What `__values` takes for a list that has no kind. */
function valueWords({ path, key, field }: ValueList): LiveKind {
  return `${path} ${key} ${field}`
}

/** The newest so many SIMs are offered, and looked at for batches, profiles and APNs. */
const NEWEST = 200

/** `svc __values KIND|PATH KEY FIELD`, which the scripts of `svc completion` run: one value a line, nothing when the service is away. */
function addValuesCommand(program: Command, terminal: Terminal): void {
  program
    .command('__values <kind> [key] [field]', { hidden: true })
    .action(async (kind: string, key: string | undefined, field: string | undefined) => {
      const list = key === undefined || field === undefined ? LISTS[kind] : { path: kind, key, field }
      const values =
        list === undefined ? [] : await liveValues(terminal, list).catch((): readonly string[] => [])
      terminal.out(values.map((value) => `${printable(value)}\n`).join(''))
    })
}

async function liveValues(terminal: Terminal, { path, key, field }: ValueList): Promise<readonly string[]> {
  const { rows } = await connect(terminal, {}).anyList(`GET ${path}`, key, NEWEST, {})
  const values = rows.flatMap((row) => row[field]).filter((value) => typeof value === 'string')
  // A word with a blank in it would be taken for two.
  return [...new Set(values)].filter((value) => /^\S+$/.test(value))
}

const SIMS = { path: '/v1/sims', key: 'sims' } as const

const LISTS: Readonly<Record<string, ValueList>> = {
  sims: { ...SIMS, field: 'imsi_sha256_12' },
  batches: { ...SIMS, field: 'batch_id' },
  profiles: { ...SIMS, field: 'profile' },
  apns: { ...SIMS, field: 'apns' },
  plugins: { path: '/v1/plugins', key: 'plugins', field: 'name' },
}
