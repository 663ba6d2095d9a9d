import { isServiceError } from '@steeple/contracts'
import { createPeers, type Peers } from '../es9/peers.ts'
import type { EsimParts } from '../parts.ts'
import { CALLS } from '../store/es2-rows.ts'
import { callOf } from '../store/es2-store.ts'
import type { Es2Caller } from './caller.ts'
import { cancelOrder } from './cancel-order.ts'
import { confirmOrder } from './confirm-order.ts'
import type { Es2Call, Es2Function, Es2Work } from './core.ts'
import { downloadOrder } from './download-order.ts'
import { type Es2Message, readMessage } from './message.ts'
import type { Es2FunctionName, Es2Metrics } from './metrics.ts'
import { Es2Refused, es2RefusedBody } from './refusal.ts'
import { releaseProfile } from './release-profile.ts'

const FUNCTIONS: Readonly<Record<Es2FunctionName, Es2Function>> = {
  downloadOrder,
  confirmOrder,
  cancelOrder,
  releaseProfile,
}

/** An answer of ES2+: HTTP status and JSON. */
export interface Es2Answer {
  readonly status: 200 | 429
  readonly body: object
}

/** The SM-DP+ as an order system sees it. */
export interface Es2 {
  /** One call. Never rejects, and never answers anything but SGP.22's form. */
  call(name: Es2FunctionName, octets: Uint8Array, caller: Es2Caller): Promise<Es2Answer>
}

/** Thrown out of a transaction: another one has executed the same call meanwhile. */
class Overtaken extends Error {}

/** Makes it. */
export function createEs2(parts: EsimParts, metrics: Es2Metrics): Es2 {
  const callers = createPeers()
  return {
    call: async (name, octets, caller) => {
      try {
        const { answer, isRepeated } = await called(parts, callers, { name, octets, caller })
        metrics.called(name, isRepeated ? 'repeated' : 'executed')
        return { status: 200, body: executed(answer) }
      } catch (error) {
        const refused = refusedBy(parts, name, error)
        metrics.called(name, refused.refusal)
        return { status: refused.refusal === 'busy' ? 429 : 200, body: es2RefusedBody(refused) }
      }
    },
  }
}

type Members = Readonly<Record<string, string>>

async function called(
  parts: EsimParts,
  callers: Peers,
  { name, octets, caller }: { name: Es2FunctionName; octets: Uint8Array; caller: Es2Caller },
): Promise<{ readonly answer: Members; readonly isRepeated: boolean }> {
  const { context } = parts
  if (!callers.admit(caller.owner, context.clock.monotonicMs())) throw new Es2Refused('busy')
  const message = readMessage(octets)
  const id = await callId(parts, name, caller.owner, message)
  const known =
    (await repeated(parts, id)) ??
    (await repeated(parts, await callId(parts, name, caller.formerOwner, message)))
  if (known !== undefined) return { answer: known, isRepeated: true }
  const call: Es2Call = { parts, caller, message, nowMs: Math.floor(context.clock.nowMs()) }
  const work = await FUNCTIONS[name](call)
  try {
    return { answer: await executeOnce(call, work, id), isRepeated: false }
  } catch (error) {
    const other = error instanceof Overtaken ? await repeated(parts, id) : undefined
    if (other === undefined) throw error
    return { answer: other, isRepeated: true }
  }
}

/** Order, audit entry, event and the answer that is kept are one transaction. */
async function executeOnce(
  { parts, caller, message, nowMs }: Es2Call,
  work: Es2Work,
  id: string,
): Promise<Members> {
  let answer: Members = {}
  await parts.context.mutate(caller.principal, work.action, work.target, async (tx) => {
    if ((await callOf(tx, id)) !== undefined) throw new Overtaken('executed meanwhile')
    const done = await work.run(tx)
    const text = Buffer.from(JSON.stringify(done.answer))
    const answer_sealed = parts.vault.seal(text, `esim_smdp_call/${id}`)
    await CALLS.insert(tx, { id, answer_sealed, at_ms: nowMs })
    const named = { requester: message.requester, function_call: message.call, client: caller.subject }
    tx.audit({ target: done.sim, detail: { token: done.token, ...done.detail, ...named } })
    tx.event({ type: work.action, subject: done.token })
    answer = done.answer
  })
  return answer
}

async function repeated(parts: EsimParts, id: string): Promise<Members | undefined> {
  const row = await callOf(parts.context.db, id)
  if (row === undefined) return undefined
  const octets = parts.vault.open(row.answer_sealed, `esim_smdp_call/${id}`)
  try {
    // Written by executeOnce alone.
    return JSON.parse(Buffer.from(octets).toString('utf8')) as Members
  } finally {
    octets.fill(0)
  }
}

/**
 * What a call is recognised by: who calls, its identifier, and what it asks for. Clients are known that count their calls
 * anew with each run: another message under the identifier of an earlier one is another call.
 */
async function callId(
  { lookup }: EsimParts,
  name: Es2FunctionName,
  owner: string,
  { requester, call, canonical }: Es2Message,
): Promise<string> {
  // A keyed hash: the message may have a short confirmation code in it.
  const mac = await lookup.mac(JSON.stringify(['es2', owner, requester, call, name, canonical]))
  return Buffer.from(mac).toString('hex')
}

function refusedBy({ context }: EsimParts, name: Es2FunctionName, error: unknown): Es2Refused {
  if (error instanceof Es2Refused) {
    context.log.debug({ function: name, refusal: error.refusal }, 'a call of ES2+ was refused')
    return error
  }
  const code = isServiceError(error) ? error.code : undefined
  context.log.error(
    { function: name, code, ...(code === undefined && { err: error }) },
    'a call of ES2+ failed',
  )
  return new Es2Refused('unavailable')
}

/** SGP.22 §6.5.1.4: the header of an answer has the status alone, and does not repeat who has called. */
function executed(answer: Members): object {
  return { header: { functionExecutionStatus: { status: 'Executed-Success' } }, ...answer }
}
