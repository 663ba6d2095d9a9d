import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { listen } from '@steeple/testkit'

export interface ProviderCall {
  readonly name: string
  readonly protocol: string
  readonly body: Readonly<Record<string, unknown>>
}

/** What a provider knows of a profile, and how far its order is. */
type Stage = 'available' | 'allocated' | 'confirmed' | 'released'

/** A provider's ES2+ as SGP.22 §5.3 has it, with profiles that were loaded by order files. */
export interface FakeProvider {
  readonly url: string
  readonly calls: readonly ProviderCall[]
  readonly stages: Map<string, Stage>
  /** Names of functions whose next call is executed and whose answer is lost. */
  readonly lost: Set<string>
  /** Names of functions that answer HTTP 500. */
  readonly broken: Set<string>
  stop(): Promise<void>
}

interface Fault {
  readonly fault: readonly [subject: string, reason: string]
}
const refused = (subject: string, reason: string): Fault => ({ fault: [subject, reason] })

export async function startProvider(): Promise<FakeProvider> {
  const calls: ProviderCall[] = []
  const stages = new Map<string, Stage>()
  const lost = new Set<string>()
  const broken = new Set<string>()
  const server = createServer(async (request, response) => {
    const name = request.url?.split('/').at(-1) ?? ''
    const body = JSON.parse(await text(request)) as Record<string, unknown> // as the client sends it
    calls.push({ name, protocol: String(request.headers['x-admin-protocol']), body })
    if (broken.has(name)) return void response.writeHead(500).end('<h1>Internal Server Error</h1>')
    const done = execute(stages, name, body)
    if (lost.delete(name)) return void request.socket.destroy()
    const status = 'fault' in done ? 'Failed' : 'Executed-Success'
    const data =
      'fault' in done ? { statusCodeData: { subjectCode: done.fault[0], reasonCode: done.fault[1] } } : {}
    const members = 'fault' in done ? {} : done
    response.writeHead(200, { 'content-type': 'application/json', 'x-admin-protocol': 'gsma/rsp/v2.5.0' })
    response.end(JSON.stringify({ header: { functionExecutionStatus: { status, ...data } }, ...members }))
  })
  const { url, close } = await listen(server)
  return { url, calls, stages, lost, broken, stop: close }
}

type Members = Readonly<Record<string, unknown>>
type Done = Fault | Readonly<Record<string, string>>

/** What a function does to a profile at a stage. */
const FUNCTIONS: Readonly<
  Record<string, (stages: Map<string, Stage>, stage: Stage, iccid: string, members: Members) => Done>
> = {
  downloadOrder: (stages, stage, iccid, { iccid: written }) => {
    if (stage !== 'available') return refused('8.2.1', '3.3')
    stages.set(iccid, 'allocated')
    return { iccid: String(written) }
  },
  confirmOrder: (stages, stage, iccid, { releaseFlag }) => {
    if (stage !== 'allocated') return refused('8.2.1', '3.3')
    stages.set(iccid, releaseFlag === true ? 'released' : 'confirmed')
    return { matchingId: `M-${iccid.slice(-8)}`, smdpAddress: 'rsp.provider.example' }
  },
  releaseProfile: (stages, stage, iccid) => {
    if (stage !== 'confirmed') return refused('8.2.1', '3.5')
    stages.set(iccid, 'released')
    return {}
  },
  cancelOrder: (stages, stage, iccid, { finalProfileStatusIndicator }) => {
    if (stage === 'available') return refused('8.2.1', '3.3')
    if (finalProfileStatusIndicator === 'Available') stages.set(iccid, 'available')
    else stages.delete(iccid)
    return {}
  },
}

function execute(stages: Map<string, Stage>, name: string, members: Members): Done {
  const iccid = String(members.iccid).replace(/F$/, '')
  const stage = stages.get(iccid)
  return stage === undefined
    ? refused('8.2.1', '3.9')
    : (FUNCTIONS[name]?.(stages, stage, iccid, members) ?? refused('1.3.1', '2.1'))
}
