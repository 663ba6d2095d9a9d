import type { Readable } from 'node:stream'
import type { Clock } from '@steeple/contracts'
import { gnbEvent } from '../stream/gnb-line.ts'
import { lineSplitter } from '../stream/line-splitter.ts'
import { ownWords } from '../stream/own-words.ts'
import type { RadioEvent } from '../stream/radio-event.ts'
import { freshFacts, nextFacts, type RadioFacts } from '../stream/radio-facts.ts'
import { srsenbEvent } from '../stream/srsenb-line.ts'

/** What is looked at when the program says something for the first time, and when it says that it is on air. */
export interface Doubts {
  /** Whether it runs with privileges of its own, or out of the process group that was made for it. */
  isUnguarded(): boolean
  /** Whether what was started has started something else. */
  isWrapped(): boolean
}

/** Listens to one radio. */
export interface RadioMonitor {
  facts(): RadioFacts
  /** Adds what was heard elsewhere than in its output. */
  note(event: RadioEvent): void
  /** The program's complaints, and its last line that may be a reason. */
  said(): { readonly words: string | undefined; readonly last: string | undefined }
  /** Those of the last minute. */
  complaints(): string | undefined
  /** Adds a complaint of the driver's own. */
  complain(text: string): void
  /** Hears one output until it ends. */
  hear(stream: Readable): Promise<void>
}

/** A monitor that has heard nothing; `changed` is told of each fact. */
export function radioMonitor(
  program: 'srsenb' | 'gnb',
  clock: Clock,
  doubts: Doubts,
  changed: (facts: RadioFacts) => void,
): RadioMonitor {
  const meaning = program === 'srsenb' ? srsenbEvent : gnbEvent
  const words = ownWords()
  let facts = freshFacts()
  const note = (event: RadioEvent): void => {
    facts = nextFacts(facts, event, clock.monotonicMs())
    changed(facts)
  }
  const line = (text: string): void => {
    words.note(text, clock.monotonicMs())
    const event = meaning(text)
    if (!facts.isHeard) note({ kind: 'heard', isUnguarded: doubts.isUnguarded() })
    if (event !== undefined) note(event)
    if (event?.kind === 'started' && doubts.isWrapped()) note({ kind: 'wrapped' })
  }
  return {
    facts: () => facts,
    note,
    said: () => ({ words: words.text(), last: words.last() }),
    complaints: () => words.recent(clock.monotonicMs()),
    complain: (text) => words.note(text, clock.monotonicMs()),
    hear: async (stream) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const splitter = lineSplitter()
      stream.on('data', (chunk: Buffer) => {
        for (const text of splitter.push(chunk)) line(text)
      })
      stream.on('error', () => resolve())
      stream.once('close', () => {
        for (const text of splitter.end()) line(text)
        resolve()
      })
      await promise
    },
  }
}
