import { setTimeout as wait } from 'node:timers/promises'
import { type Clock, southboundUnavailable, untilAborted } from '@steeple/contracts'
import type { RadioCommand } from '../process/guard-script.ts'
import { renewalMs } from '../process/guard-script.ts'
import { radioMonitor } from '../process/radio-monitor.ts'
import {
  GONE_BOUND_MS,
  KILL_AFTER_MS,
  type RadioListener,
  type RadioProcess,
} from '../process/radio-process.ts'
import { mayBeOnAir } from '../stream/radio-facts.ts'
import { LAUNCH_COMMANDS, READY_LINE } from './launch-script.ts'
import type { ContainerStreams, RadioContainer } from './radio-container.ts'

const LOOK_MS = 50
const READY_BOUND_MS = 10_000

/** A container that waits for the word to start its radio. */
interface WaitingRadio {
  /** Starts the radio in this very turn: the word is written before anything else can be. */
  begin(command: RadioCommand, clock: Clock, listener: RadioListener): RadioProcess
  /** Ends a container that was not begun with. */
  release(): Promise<void>
}

/** Kills what runs in the container, and sees that it does not run any more. Throws `southbound_unavailable`. */
export async function endContainer(container: RadioContainer): Promise<boolean> {
  const endMs = performance.now() + GONE_BOUND_MS
  let wasRunning = false
  while ((await container.look())?.isRunning === true) {
    wasRunning = true
    if (performance.now() > endMs)
      throw southboundUnavailable(
        'the container of the radio cannot be ended; cut the power of the radio if it must be off',
      )
    await container.kill()
    await wait(LOOK_MS)
  }
  return wasRunning
}

/** Starts the container up to the point where its script waits. Throws `southbound_unavailable`, `validation_failed`. */
export async function waitingRadio(
  container: RadioContainer,
  script: string,
  leaseMs: number,
): Promise<WaitingRadio> {
  await container.require(script)
  await endContainer(container)
  const streams = await container.start()
  streams.input.on('error', () => undefined)
  // Ends a line that the engine may have begun itself.
  streams.input.write('\n')
  const beats = setInterval(() => streams.input.write(LAUNCH_COMMANDS.beat), renewalMs(leaseMs)).unref()
  const release = async (): Promise<void> => {
    clearInterval(beats)
    streams.drop()
    await endContainer(container)
  }
  try {
    await ready(streams)
    const pid = (await container.look())?.pid
    return {
      release,
      begin: (command, clock, listener) =>
        begin({ container, streams, pid, endBeats: () => clearInterval(beats) }, command, clock, listener),
    }
  } catch (error) {
    await release()
    throw error
  }
}

interface Held {
  readonly container: RadioContainer
  readonly streams: ContainerStreams
  readonly pid: number | undefined
  endBeats(): void
}

function begin(held: Held, command: RadioCommand, clock: Clock, listener: RadioListener): RadioProcess {
  const { container, streams, pid } = held
  const gone = Promise.withResolvers<void>()
  // A container has no privileges that its script would not end with it.
  const doubts = { isUnguarded: () => false, isWrapped: () => false }
  const monitor = radioMonitor(command.program, clock, doubts, listener.changed)
  const heard = Promise.all(streams.outputs.map((output) => monitor.hear(output)))
  let isGone = false
  let isHalting = false
  streams.input.write(LAUNCH_COMMANDS.go)
  for (const output of streams.outputs) output.resume()

  const kill = (): void => {
    if (isGone) return
    // Two ways: the script is told even when the engine is slow to kill, or does not.
    streams.input.write(LAUNCH_COMMANDS.now)
    held.endBeats()
    void container.kill().catch(() => undefined)
  }
  const ended = async (): Promise<void> => {
    held.endBeats()
    const isHalted = isHalting
    const code = await codeOnceGone(container)
    isGone = true
    streams.drop()
    gone.resolve()
    await Promise.race([heard, wait(LOOK_MS)])
    const isKilled = code === 137
    listener.exited({
      code: isKilled ? undefined : code,
      signal: isKilled ? 'SIGKILL' : undefined,
      facts: monitor.facts(),
      ...monitor.said(),
      isHalted,
    })
  }
  void streams.over.then(ended)
  return {
    mark: undefined,
    pid,
    get isHalting() {
      return isHalting
    },
    facts: monitor.facts,
    complaints: monitor.complaints,
    note: monitor.note,
    kill,
    halt: async (haste) => {
      if (haste === 'urgent' && !mayBeOnAir(monitor.facts())) kill()
      if (!isHalting || haste === 'urgent') streams.input.write(LAUNCH_COMMANDS[haste])
      isHalting = true
      const killing = setTimeout(kill, KILL_AFTER_MS[haste])
      try {
        await untilAborted(gone.promise, AbortSignal.timeout(GONE_BOUND_MS))
      } catch (cause) {
        throw southboundUnavailable(
          'the engine does not confirm that the radio is gone; cut its power if it must be off',
          { cause },
        )
      } finally {
        clearTimeout(killing)
      }
    },
  }
}

/** Kills until the container does not run, however long that takes, and gives its exit code. */
async function codeOnceGone(container: RadioContainer): Promise<number | undefined> {
  for (;;) {
    try {
      const look = await container.look()
      if (look?.isRunning !== true) return look?.exitCode
      await container.kill()
    } catch {
      // The engine is away: it is asked again.
    }
    await wait(LOOK_MS)
  }
}

async function ready({ outputs, over }: ContainerStreams): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let text = ''
  const hear = (chunk: Buffer): void => {
    text = (text + chunk.toString()).slice(-READY_LINE.length - 2_000)
    if (text.includes(READY_LINE)) resolve()
  }
  const [out] = outputs
  out?.on('data', hear)
  void over.then(() => reject(new Error('it has ended')))
  try {
    await untilAborted(promise, AbortSignal.timeout(READY_BOUND_MS))
  } catch (cause) {
    throw southboundUnavailable(
      'the container of the radio does not run its script (see docs/how-to/radio.md)',
      { cause },
    )
  } finally {
    out?.off('data', hear)
  }
}
