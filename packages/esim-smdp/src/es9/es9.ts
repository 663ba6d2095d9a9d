import { isServiceError } from '@steeple/contracts'
import type { EsimParts } from '../parts.ts'
import { executedBody, type RefusalName, Refused, refusedBody } from '../rsp/refusal.ts'
import { authenticateClient } from './authenticate.ts'
import { cancelSession } from './cancel.ts'
import { type Es9Core, es9Core } from './core.ts'
import { getBoundProfilePackage } from './deliver.ts'
import { countGuesses, tellGuessing } from './guesses.ts'
import { initiateAuthentication } from './initiate.ts'
import type { Es9Function } from './metrics.ts'
import { handleNotification } from './notify.ts'
import { createPeers } from './peers.ts'
import { countOpen, sweep } from './sweep.ts'

const SWEEP_MS = 60_000
const COUNT_MS = 15_000
/** In every answer. Phones take any of version 2. Facts section 1.1. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  'x-admin-protocol': 'gsma/rsp/v2.5.0',
}

/** An answer of ES9+: HTTP status, headers, and its JSON, if it has one. */
export interface Es9Answer {
  readonly status: 200 | 204 | 429
  readonly headers: Readonly<Record<string, string>>
  readonly body?: object
}

/** The SM-DP+ as phones see it, for whichever listener they come by. */
export interface Es9 {
  /**
   * One call: the octets of its body, and the network that it comes from (see `networkOf`; empty: one that may call as it
   * likes). Never rejects, and never answers anything but SGP.22's form.
   */
  call(name: Es9Function, octets: Uint8Array, network: string): Promise<Es9Answer>
  /** Begins to forget what is over. Once, at the start of the plugin. */
  start(): void
}

type Answering = (core: Es9Core, octets: Uint8Array) => Promise<Readonly<Record<string, string>>>
const FUNCTIONS: Readonly<Record<Exclude<Es9Function, 'handleNotification'>, Answering>> = {
  initiateAuthentication,
  authenticateClient,
  getBoundProfilePackage,
  cancelSession,
}

/** Makes it; registers its series and its sealed columns. */
export function createEs9(parts: EsimParts): Es9 {
  const core = es9Core(parts)
  const peers = createPeers()
  const guesses = countGuesses()
  const { context, vault } = parts
  vault.register({ table: 'esim_smdp_session', key: 'tid', columns: ['eid_sealed'] })
  vault.register({ table: 'esim_smdp_euicc', key: 'eid_hash', columns: ['eid_sealed'] })
  return {
    call: async (name, octets, network) => {
      core.metrics.called(name)
      if (!peers.admit(network, context.clock.monotonicMs())) {
        core.metrics.refused('busy')
        return busy()
      }
      try {
        if (name === 'handleNotification') return await noticed(core, octets)
        const fields = await FUNCTIONS[name](core, octets)
        return { status: 200, headers: HEADERS, body: executedBody(fields) }
      } catch (error) {
        const isGuess = error instanceof Refused && error.refusal === 'matching_id'
        if (isGuess && guesses.saw(context.clock.monotonicMs()))
          // The phone is answered all the same.
          await tellGuessing(core).catch((cause) => context.log.warn({ err: cause }, 'an event was not told'))
        return failed(core, name, error)
      }
    },
    start: () => {
      context.every(SWEEP_MS, (signal) => sweep(core, signal))
      context.every(COUNT_MS, () => countOpen(core), 'each')
    },
  }
}

async function noticed(core: Es9Core, octets: Uint8Array): Promise<Es9Answer> {
  const result = await handleNotification(core, octets)
  core.metrics.noticed(result)
  if (result !== 'counted') core.parts.context.log.debug({ result }, 'a notification changed nothing')
  return { status: 204, headers: { 'x-admin-protocol': HEADERS['x-admin-protocol'] ?? '' } }
}

function failed(core: Es9Core, name: Es9Function, error: unknown): Es9Answer {
  const { log } = core.parts.context
  if (!(error instanceof Refused)) {
    const code = isServiceError(error) ? error.code : undefined
    log.error({ function: name, code, ...(code === undefined && { err: error }) }, 'a call of ES9+ failed')
    core.metrics.refused('unavailable')
    // A phone drops a notification that was answered with 204: it is to send this one again.
    return name === 'handleNotification' ? busy() : answerOf('unavailable')
  }
  core.metrics.refused(error.refusal)
  const cause = error.cause instanceof Error ? error.cause.message : error.cause
  log.debug({ function: name, refusal: error.refusal, cause }, 'a call of ES9+ was refused')
  return answerOf(error.refusal)
}

function answerOf(refusal: RefusalName): Es9Answer {
  return { status: 200, headers: HEADERS, body: refusedBody(refusal) }
}

function busy(): Es9Answer {
  return { status: 429, headers: { ...HEADERS, 'retry-after': '5' }, body: refusedBody('busy') }
}
