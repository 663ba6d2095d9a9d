import { spawn } from 'node:child_process'
import { mkdtemp, open, rm, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { defineError, type ErrorFactory, type ImsiHash } from '@steeple/contracts'
import { imsiHash, parseImsi } from '@steeple/telecom'
import { MODELS, missingOf, namesIn, READ_SCRIPT, withAdm } from './script.ts'

const cardWriterMissing: ErrorFactory = defineError('card_writer_missing', 409, '%s')
const cardMissing: ErrorFactory = defineError(
  'card_missing',
  409,
  'there is no card in the reader, or it does not answer; put the card in with the contacts down',
)
export const cardConflict: ErrorFactory = defineError('card_conflict', 409, '%s')
const cardWriteFailed: ErrorFactory = defineError('card_write_failed', 409, '%s')

export interface Writer {
  /** pySim-shell: a path, or a name in the PATH. */
  readonly program: string
  /** Number of the PC/SC reader. */
  readonly reader: number
}

/** What a card says of itself. */
export interface SeenCard {
  readonly model: string
  /** 18 to 20 digits. */
  readonly iccid: string
  /** Of the IMSI that it holds, if it lets anyone read it. */
  readonly hash: ImsiHash | undefined
}

/** A card takes seconds. One that takes longer hangs, and the reader with it. */
const LIMIT_MS = 90_000
/** More is no output of a card. */
const MOST_CHARACTERS = 1_000_000
/** In memory on Linux; elsewhere the file has lost its name before anything is written. */
const MEMORY = process.platform === 'linux' ? '/dev/shm' : tmpdir()

/** What pySim-shell and the library below it say when something is missing, and what to do about it. */
const MISSING: readonly (readonly [said: RegExp, error: () => Error])[] = [
  [/NoCardError|ProtocolError|CardConnectionException|NoCardException/, () => cardMissing()],
  [
    /No reader found/,
    () =>
      cardWriterMissing('there is no card reader with this number; plug it in, or set card_writer.reader'),
  ],
  [
    /EstablishContextException|Service not available/,
    () => cardWriterMissing('the PC/SC service does not run here; install and start pcscd'),
  ],
  [
    /ModuleNotFoundError|ImportError/,
    () => cardWriterMissing('pySim is not installed completely; see docs/how-to/write-cards.md'),
  ],
]

/** Reads what names the card in the reader. Throws `card_writer_missing`, `card_missing`, `card_conflict`. */
export async function readCard(writer: Writer): Promise<SeenCard> {
  const output = await run(writer, READ_SCRIPT)
  const [, detected = ''] = /Detected CardModel: (\w+)/.exec(output) ?? []
  const model = MODELS[detected]
  const { iccid, imsi } = namesIn(output)
  if (model === undefined || iccid === undefined)
    throw cardConflict(
      `this card is of a kind that cannot be written here; use ${Object.values(MODELS).join(' or ')}, or pySim-prog by hand`,
    )
  const parsed = parseImsi(imsi ?? '')
  return { model, iccid, hash: parsed === undefined ? undefined : imsiHash(parsed) }
}

/**
 * Writes the card in the reader by a script, and compares what it holds afterwards. The ADM key is tried once: a card counts wrong
 * ones, and is lost after a few. Throws `card_write_failed`, and as `readCard`.
 */
export async function writeCard(writer: Writer, script: string, adm: string): Promise<void> {
  const output = await run(writer, withAdm(script, adm))
  // The message has the key that was tried.
  const left = /Failed to verify chv_no[^,]*,\s*(\d+)\s+tries/.exec(output)?.[1]
  if (left !== undefined)
    throw cardWriteFailed(`the card refuses the ADM key; ${left} tries are left, then the card is lost`)
  const missing = missingOf(script, output)
  if (missing.length > 0)
    throw cardWriteFailed(`the card does not hold what was written (${missing.join(', ')}); write it again`)
}

/**
 * What pySim-shell prints while it does a script, which nobody but the callers above may see: it has keys. The script comes by an open
 * file without a name, so that no list of processes, environment or disk has it; the history of pySim-shell, which would keep it, is off.
 */
async function run({ program, reader }: Writer, script: string): Promise<string> {
  const dir = await mkdtemp(join(MEMORY, 'svc-card-'))
  try {
    const file = join(dir, 'script')
    await using handle = await open(file, 'wx+', 0o600)
    await unlink(file)
    await handle.write(script, 0)
    return await outputOf(program, reader, handle.fd, dir)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

async function outputOf(program: string, reader: number, fd: number, home: string): Promise<string> {
  const history = 'set scripts_add_to_history false'
  const args = ['-p', String(reader), '--noprompt', '-e', history, '--script', '/dev/fd/3']
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe', fd],
    env: { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8', PYTHONUNBUFFERED: '1' },
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  })
  const { stdout, stderr } = child
  if (stdout === null || stderr === null) throw new Error('pySim-shell has no pipes')
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const [said, errors, code] = await Promise.all([text(stdout), text(stderr), ended]).catch(
    (error: NodeJS.ErrnoException) => {
      throw cardWriterMissing(
        error.code === 'ENOENT'
          ? 'pySim-shell is not here; install pySim and set card_writer.program (docs/how-to/write-cards.md)'
          : `pySim-shell cannot be started: ${error.code}`,
      )
    },
  )
  const output = `${said}\n${errors}`.slice(0, MOST_CHARACTERS)
  // With a card that pySim-shell knows the script has begun, whatever went wrong in it.
  const missing = /^== /m.test(said) ? undefined : MISSING.find(([pattern]) => pattern.test(output))
  if (missing !== undefined) throw missing[1]()
  if (code !== 0)
    throw cardWriteFailed('pySim-shell failed or hung; take the card out, put it in, and try again')
  return output
}
