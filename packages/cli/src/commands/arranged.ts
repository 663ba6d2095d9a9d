import { Command } from 'commander'
import { usageError } from '../command-error.ts'
import { EARLIER_NAME } from './api-commands.ts'
import { placeOptions, restCommand, serviceOptions } from './options.ts'

/** The options that may stand before a command: what says where and how, the same for many commands. */
const AHEAD = serviceOptions(placeOptions(restCommand(new Command(), 'any', ''))).options
/** What `--wait` takes. */
const DURATION = /^\d{1,6}(\.\d+)?[a-z]*$/

/** Names that commands had in release 0.2.0, and what they are now. They work until the release after the next. */
const EARLIER: readonly (readonly [before: string, now: string])[] = [
  ['nodes list', 'node list'],
  ['sessions', 'session list'],
  ['recovery left', 'recovery show'],
  ['recovery new', 'recovery replace'],
  ['user uninvite', 'user invitation remove'],
  ['user certs', 'user cert list'],
  ['user uncert', 'user cert remove'],
  ['user passkeys', 'user passkey list'],
  ['user unpasskey', 'user passkey remove'],
]
/** The same of commands that are rows. */
function earlierIn(command: Command, path: readonly string[] = []): typeof EARLIER {
  return command.commands.flatMap((one) => {
    const [before, now] = [EARLIER_NAME.get(one), [...path, one.name()]]
    return [...(before === undefined ? [] : [[before, now.join(' ')] as const]), ...earlierIn(one, now)]
  })
}
/** `user cert NAME` was what `user cert add NAME` is. */
const CERT = ['user', 'cert']
const CERT_VERBS: readonly string[] = ['add', 'list', 'remove']

/** Words with the present name of a command where they begin with an earlier one, whatever options stand between. */
function renamed(program: Command, words: readonly string[]): readonly string[] {
  const places: number[] = []
  for (let at = 0; at < words.length && places.length < 3; at += Math.max(1, optionSize(words[at] ?? '')))
    if (words[at]?.startsWith('-') === false) places.push(at)
  const said = places.map((at) => words[at] ?? '')
  const found = [...EARLIER, ...earlierIn(program)].find(
    ([before]) => said.slice(0, before.split(' ').length).join(' ') === before,
  )
  const isCert =
    said[0] === CERT[0] && said[1] === CERT[1] && said[2] !== undefined && !CERT_VERBS.includes(said[2])
  const [size, now] = found
    ? [found[0].split(' ').length, found[1].split(' ')]
    : isCert
      ? [2, [...CERT, 'add']]
      : [0, []]
  if (size === 0) return words
  const gone = new Set(places.slice(0, size))
  const first = places[0] ?? 0
  return words.flatMap((word, at) => (at === first ? now : gone.has(at) ? [] : [word]))
}

/** A command line as the program parses it. */
interface Arranged {
  readonly program: Command
  readonly line: readonly string[]
  /** The command that it names; undefined where it names none of the program's. */
  readonly leaf: string | undefined
}

/**
 * Puts options that stand before a command, or inside its name, behind it, and `--wait` without a duration at the end. Options without a
 * command are those of `svc serve`.
 */
export function arranged(program: Command, typed: readonly string[]): Arranged {
  const words = renamed(program, typed)
  const path: string[] = []
  const ahead: string[] = []
  let command = program
  let at = 0
  while (at < words.length && command.commands.length > 0) {
    const word = words[at] ?? ''
    const size = optionSize(word)
    if (size > 0) ahead.push(...words.slice(at, at + size))
    else {
      const next = command.commands.find((one) => one.name() === word)
      if (next === undefined) break
      path.push(word)
      command = next
    }
    at += Math.max(1, size)
  }
  const rest = words.slice(at)
  if (command.commands.length === 0)
    return { program, line: [...path, ...ahead, ...waitLast(command, rest)], leaf: command.name() }
  const [first] = rest
  // Help is for what there is: a word that is no command is refused whatever follows it.
  if (first?.startsWith('-') === false) return { program, line: [...path, first], leaf: undefined }
  const isService = path.length === 0 && first !== '--help' && words.length > 0
  if (!isService) return { program, line: [...path, ...rest], leaf: undefined }
  if (first === '--version') return { program, line: rest, leaf: first }
  refuseForeign(program, ahead)
  return { program, line: ['serve', ...words], leaf: 'serve' }
}

/** Throws `usage` where an option needs a command that is not there. */
function refuseForeign(program: Command, ahead: readonly string[]): void {
  const served = program.commands.find((one) => one.name() === 'serve')?.options
  const foreign = ahead.find(
    (word) => optionSize(word) > 0 && !served?.some(({ long }) => long === longOf(word)),
  )
  if (foreign !== undefined)
    throw usageError(`${longOf(foreign)} needs a command, such as svc status; svc --help shows the commands`)
}

/** Of how many words an option is that may stand before a command; 0 for every other word. */
function optionSize(word: string): number {
  const option = AHEAD.find((one) => one.long === longOf(word))
  if (option === undefined) return 0
  return option.required && !word.includes('=') ? 2 : 1
}

function longOf(word: string): string {
  return word.replace(/=.*/s, '')
}

/** The word behind a bare `--wait` is an argument. */
function waitLast(command: Command, words: readonly string[]): readonly string[] {
  const at = words.indexOf('--wait')
  const isBare = at >= 0 && command.options.some((one) => one.long === '--wait' && one.optional)
  if (!isBare || words.includes('--') || DURATION.test(words[at + 1] ?? '')) return words
  return [...words.toSpliced(at, 1), '--wait']
}
