import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { ActivationCodeError, ChainError, Es9Error, Es9Refused, LpaError } from '@steeple/virtual-euicc'
import type { LabClock } from '../clock.ts'
import { type Esim, type EsimAction, EsimError, type Esims, type EsimWish, EumError } from '../esim/esims.ts'
import type { Interface } from '../gtpu/frame.ts'
import type { GtpuPath } from '../gtpu/path.ts'
import type { How, Octets, Traffic } from '../gtpu/traffic.ts'
import type { Mme } from '../mme/mme.ts'
import { CardsError, type LabCard, readCards } from '../phones/cards.ts'
import type { Fleet, NamedPhone } from '../phones/fleet.ts'
import type { Phone } from '../phones/phone.ts'

/** A request of the control API, already found to be none of a web page. */
interface ControlRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly body: string
}

interface ControlAnswer {
  readonly status: number
  readonly body: unknown
}

/** What the control API works on. */
interface ControlPlace {
  readonly fleet: Fleet
  readonly mme: Mme
  readonly traffic: Traffic
  readonly path: GtpuPath
  readonly clock: LabClock
  readonly esims: Esims
}

/** A request that cannot be done. */
class ControlError extends Error {
  readonly status: number
  constructor(message: string, options: { readonly status: number; readonly cause?: unknown }) {
    super(message, options)
    this.status = options.status
  }
}

/** What a body in JSON holds; each part is checked by who takes it. Throws `ControlError`. */
function askedIn(body: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(body) ?? {}
  } catch (cause) {
    throw new ControlError('the body is no JSON', { status: 400, cause })
  }
}

/** A path that there is not. */
function unknownPath(): ControlError {
  return new ControlError('no such path; GET / says which there are', { status: 404 })
}

/** An answer waits so long for phones to attach, ms. */
const SETTLE_MS = 2_000
const POLL_MS = 10

/** Phones once none of them is attaching, or after a bounded wait. */
async function shown(
  chosen: readonly NamedPhone[],
  name: string,
  { fleet, clock, traffic }: ControlPlace,
): Promise<ControlAnswer> {
  for (let waited = 0; waited < SETTLE_MS; waited += POLL_MS) {
    if (!chosen.some(({ phone }) => phone.state === 'attaching')) break
    await clock.sleep(POLL_MS)
  }
  const items = chosen.map((named) => phoneRecord(named, fleet, traffic))
  return { status: 200, body: name === 'all' ? { phones: items } : items[0] }
}

/** A phone as it is shown: neither its IMSI nor its keys. */
function phoneRecord(named: NamedPhone, fleet: Fleet, traffic: Traffic): object {
  const session = fleet.session(named)
  const moved = traffic.moved(named.imsi)
  const kept = traffic.kept(named.imsi)
  return {
    phone: named.name,
    state: named.phone.state,
    problem: named.phone.problem ?? null,
    apn: session?.apn ?? null,
    ipv4: session?.lease.ipv4 ?? null,
    ipv6: session?.lease.ipv6 ?? null,
    up_bytes: session?.upBytes ?? 0,
    down_bytes: session?.downBytes ?? 0,
    traffic: { up_kbps: kept.up / 1000, down_kbps: kept.down / 1000 },
    total: {
      up_bytes: moved.upBytes,
      down_bytes: moved.downBytes,
      up_packets: moved.upPackets,
      down_packets: moved.downPackets,
    },
  }
}

type Switched = Pick<Phone, 'powerOff' | 'powerOn' | 'state'>

/** A box tells its HSS of a new SIM within moments of its issue; a download may be faster. */
const KNOWN_WITHIN_MS = 5_000
const PAUSE_MS = 100

/**
 * Switches a phone on. One that the network does not know (yet) holds its card for no good from then on, as TS 24.301
 * §5.5.1.2.5 has it: it is switched off and on again for a while, as its owner would do. Resolves when it is not barred
 * or the while is over.
 */
export async function switchOn(phone: Switched, clock: LabClock): Promise<void> {
  phone.powerOn()
  for (let waited = 0; waited < KNOWN_WITHIN_MS; waited += PAUSE_MS) {
    if (phone.state === 'barred') {
      phone.powerOff()
      phone.powerOn()
    } else if (phone.state !== 'attaching') return
    await clock.sleep(PAUSE_MS)
  }
}

const ESIM_ACTIONS: readonly string[] = ['enable', 'disable', 'delete'] satisfies readonly EsimAction[]

/** `/esims`: phones that download their SIM. Throws `ControlError`. */
async function esims(
  request: ControlRequest,
  phone: string | undefined,
  action: string | undefined,
  place: ControlPlace,
): Promise<ControlAnswer> {
  try {
    if (phone === undefined && request.method === 'GET')
      return { status: 200, body: { esims: (await place.esims.list()).map(esimRecord) } }
    if (request.method !== 'POST') throw unknownPath()
    if (phone === undefined) return await attached(await place.esims.download(wishIn(request.body)), place)
    if (action === undefined || !ESIM_ACTIONS.includes(action)) throw unknownPath()
    return await acted(phone, action as EsimAction, place) // one of the list
  } catch (error) {
    throw esimProblem(error)
  }
}

async function acted(phone: string, action: EsimAction, place: ControlPlace): Promise<ControlAnswer> {
  const esim = await place.esims.act(phone, action)
  if (action === 'enable') return attached(esim, place)
  await place.fleet.remove(phone)
  return { status: 200, body: { esims: [esimRecord(esim)] } }
}

/** Its phone is switched on with what the profile holds. */
async function attached(esim: Esim, place: ControlPlace): Promise<ControlAnswer> {
  const inserted = await place.fleet.insert([esim.card])
  await Promise.all(inserted.map(({ phone }) => switchOn(phone, place.clock)))
  const { status, body } = await shown(inserted, 'all', place)
  return { status, body: { esims: [esimRecord(esim)], ...(body as object) } } // of `shown`: an object
}

/** An eSIM as it is shown: neither its IMSI nor its keys. */
function esimRecord(esim: Esim): object {
  return {
    phone: esim.phone,
    euicc: esim.eidLast4,
    iccid_last4: esim.iccidLast4,
    provider: esim.provider,
    name: esim.name,
    enabled: esim.isEnabled,
    waiting_notifications: esim.waiting,
  }
}

function wishIn(body: string): EsimWish {
  const { activation_code, confirmation_code, curve, euicc, server } = askedIn(body)
  if (typeof activation_code !== 'string')
    throw new ControlError('expected {"activation_code": "LPA:1$…"}', { status: 400 })
  if (curve !== undefined && curve !== 'P-256' && curve !== 'brainpoolP256r1')
    throw new ControlError('curve is P-256 or brainpoolP256r1', { status: 400 })
  if (euicc !== undefined && (typeof euicc !== 'string' || !/^[0-9]{4}$/.test(euicc)))
    throw new ControlError('euicc takes the last four digits of an EID', { status: 400 })
  return {
    activationCode: activation_code,
    ...(typeof confirmation_code === 'string' ? { confirmationCode: confirmation_code } : {}),
    ...(curve === undefined ? {} : { curve }),
    ...(euicc === undefined ? {} : { euicc }),
    ...(typeof server === 'string' ? { server } : {}),
  }
}

function esimProblem(error: unknown): unknown {
  if (error instanceof ActivationCodeError) return refused(400, error)
  if (error instanceof Es9Refused || error instanceof Es9Error || error instanceof LpaError)
    return refused(409, error)
  if (error instanceof EsimError || error instanceof EumError || error instanceof ChainError)
    return refused(409, error)
  if (error instanceof TypeError)
    return new ControlError('the SM-DP+ cannot be reached; say where it is with --server', {
      status: 502,
      cause: error,
    })
  return error
}

function refused(status: number, error: Error): ControlError {
  return new ControlError(error.message, { status, cause: error })
}

/** An answer waits so long for data to be through, ms; they go on after it. */
const MOVED_MS = 10_000
const BYTES_MAX = 1e15
const KBPS_MAX = 10_000_000

/** Answers one request. Throws `ControlError`, `CardsError`. */
async function control(request: ControlRequest, place: ControlPlace): Promise<ControlAnswer> {
  const [resource = '', name, action, ...more] = request.path.split('/').slice(1)
  if (more.length > 0) throw unknownPath()
  if (resource !== 'phones') return await otherThan(request, [resource, name, action], place)
  if (name === undefined) return await phones(request, place)
  const chosen = chosenPhones(place.fleet, name)
  if (request.method === 'POST' && action !== undefined) {
    // All at once means all that can.
    const able = name === 'all' && action === 'data' ? chosen.filter(({ phone }) => phone.isAttached) : chosen
    await within(Promise.all(able.map((phone) => act(phone, action, request, place))), place.clock)
    return await shown(chosen, name, place)
  }
  if (action !== undefined) throw unknownPath()
  if (request.method === 'DELETE') {
    for (const phone of chosen) place.traffic.keep(phone, { up: 0, down: 0 }, 's1u')
    await Promise.all(chosen.map((phone) => place.fleet.remove(phone.name)))
    return { status: 200, body: { removed: chosen.length } }
  }
  return await shown(chosen, name, place)
}

async function otherThan(
  request: ControlRequest,
  [resource, name, action]: readonly [string, string | undefined, string | undefined],
  place: ControlPlace,
): Promise<ControlAnswer> {
  if (resource === 'esims') return await esims(request, name, action, place)
  if (resource === 'radio') return radio(request.method, name, place)
  if (resource === 'gtpu' && name === undefined) return gtpu(place)
  throw unknownPath()
}

async function phones(request: ControlRequest, place: ControlPlace): Promise<ControlAnswer> {
  const { fleet } = place
  if (request.method === 'GET') return await shown(fleet.all(), 'all', place)
  if (request.method !== 'POST') throw new ControlError('GET or POST', { status: 405 })
  const cards = readCards(request.body)
  const isSpoiled = request.query.get('wrong_keys') === 'true'
  const inserted = await fleet.insert(isSpoiled ? cards.map(spoiled) : cards)
  if (request.query.get('on') !== 'false') for (const { phone } of inserted) phone.powerOn()
  return await shown(inserted, 'all', place)
}

/** A card that was written with another key: the first digit differs. */
function spoiled(card: LabCard): LabCard {
  const first = (Number.parseInt(card.ki[0] ?? '0', 16) ^ 1).toString(16)
  return { ...card, ki: first + card.ki.slice(1) }
}

async function act(
  named: NamedPhone,
  action: string,
  request: ControlRequest,
  { traffic, mme }: ControlPlace,
): Promise<void> {
  const { phone } = named
  const run = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined
  if (run !== undefined) run(phone)
  else if (action === 'apn') setApn(phone, request.body)
  else if (action === 'traffic') {
    const { rates, on } = trafficIn(request.body)
    traffic.keep(named, rates, on)
  } else if (action === 'data') {
    const { octets, how } = dataIn(request.body)
    if (!phone.serviceRequest() || mme.bearerOf(named.imsi) === undefined)
      throw new ControlError(`phone ${named.name} is not attached`, { status: 409 })
    const moving = traffic.move(named, octets, how)
    // At a rate it takes as long as that says.
    if (how.bitsPerSecond === undefined) await moving
  } else throw unknownPath()
}

/** What it comes to, or nothing after a bounded wait; a failure after that is nobody's. */
async function within(work: Promise<unknown>, clock: LabClock): Promise<void> {
  const given = new AbortController()
  const late = clock.sleep(MOVED_MS, given.signal).catch(() => undefined)
  await Promise.race([work, late]).finally(() => given.abort())
}

/** Whoever changes the APN of a phone has it attach anew. */
function setApn(phone: NamedPhone['phone'], body: string): void {
  const { apn } = askedIn(body)
  if (apn !== null && (typeof apn !== 'string' || !/^[A-Za-z0-9.-]{1,100}$/.test(apn)))
    throw new ControlError('expected {"apn": "internet"}, or null for any', { status: 400 })
  phone.apn = apn ?? undefined
  phone.powerOff()
  phone.powerOn()
}

const ACTIONS: Readonly<Record<string, (phone: NamedPhone['phone']) => void>> = {
  attach: (phone) => phone.attach(),
  detach: (phone) => phone.detach(),
  idle: (phone) => phone.goIdle(),
  'service-request': (phone) => void phone.serviceRequest(),
  'power-on': (phone) => phone.powerOn(),
  'power-off': (phone) => phone.powerOff(),
}

/** Where the tunnels run, and how many frames went through. */
function gtpu({ path: { addresses, counts } }: ControlPlace): ControlAnswer {
  const shown = ({ host, port }: { readonly host: string; readonly port: number }): string =>
    `${host}:${port}`
  const { sent, arrived, lost } = counts
  return {
    status: 200,
    body: { enb: shown(addresses.radio), sgwu: shown(addresses.core), sent, arrived, lost },
  }
}

function radio(method: string, state: string | undefined, { mme }: ControlPlace): ControlAnswer {
  if (method === 'POST') {
    if (state !== 'up' && state !== 'down') throw unknownPath()
    mme.setRadio(state === 'up')
  } else if (state !== undefined) throw unknownPath()
  return { status: 200, body: { radio: mme.isRadioUp ? 'up' : 'down' } }
}

function chosenPhones(fleet: Fleet, name: string): readonly NamedPhone[] {
  if (name === 'all') return fleet.all()
  const found = fleet.find(name)
  if (found === undefined)
    throw new ControlError(`no phone ${/^[0-9a-f]{12}$/.test(name) ? name : ''}`, { status: 404 })
  return [found]
}

function dataIn(body: string): { readonly octets: Octets; readonly how: How } {
  const { up_bytes: up = 0, down_bytes: down = 0, kbps, interface: on = 's1u' } = askedIn(body)
  const isRate = kbps === undefined || (isNumber(kbps) && kbps > 0 && kbps <= KBPS_MAX)
  if (!isCount(up) || !isCount(down) || !isRate || !isInterface(on))
    throw new ControlError(
      `expected {"up_bytes": N, "down_bytes": N, "kbps": R, "interface": "s1u"}: whole numbers from 0, a rate over 0 and up to ${KBPS_MAX} or none, "s1u" or "n3"`,
      { status: 400 },
    )
  return { octets: { up, down }, how: { bitsPerSecond: kbps === undefined ? undefined : kbps * 1000, on } }
}

function trafficIn(body: string): { readonly rates: Octets; readonly on: Interface } {
  const { up_kbps: up = 0, down_kbps: down = 0, interface: on = 's1u' } = askedIn(body)
  const isRate = (value: unknown): value is number => isNumber(value) && value >= 0 && value <= KBPS_MAX
  if (!isRate(up) || !isRate(down) || !isInterface(on))
    throw new ControlError(
      `expected {"up_kbps": R, "down_kbps": R, "interface": "s1u"}: 0 (none) to ${KBPS_MAX}, "s1u" or "n3"`,
      { status: 400 },
    )
  return { rates: { up: up * 1000, down: down * 1000 }, on }
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function isInterface(value: unknown): value is Interface {
  return value === 's1u' || value === 'n3'
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= BYTES_MAX
}

const BODY_MAX = 8 * 1024 * 1024
/** 127.0.0.0/8, ::1 and their name, with any port. */
const LOOPBACK = /^(127(\.\d{1,3}){3}|localhost|\[::1\])(:\d{1,5})?$/

/** What `GET /` says. */
const GUIDE = `The phones of a Steeple lab core.
  GET    /phones                       all phones: state, address, octets of the session
  POST   /phones                       put cards into phones (what svc sim export BATCH --format json prints), switch on
  GET    /phones/PHONE                 one phone; PHONE is the SIM's imsi_sha256_12, or all
  POST   /phones/PHONE/attach          also: detach, idle, service-request, power-on, power-off
  POST   /phones/PHONE/data            {"up_bytes": N, "down_bytes": N}: move octets of IP packets through the tunnel;
                                       "kbps": R each way, or as fast as it goes; "interface": "s1u" or "n3"
  POST   /phones/PHONE/traffic         {"up_kbps": R, "down_kbps": R}: whenever it is attached, until 0 and 0
  DELETE /phones/PHONE                 take it away
  GET    /esims                        eUICCs of the lab and the profiles on them
  POST   /esims                        {"activation_code": "LPA:1$…", "confirmation_code": C, "curve": "P-256", "euicc": LAST4,
                                       "server": URL}: a phone downloads an eSIM and attaches with it
  POST   /esims/PHONE/disable          also: enable, delete; the SM-DP+ is told
  GET    /gtpu                         where the tunnels run, and frames sent, arrived and lost
  GET    /radio                        POST /radio/down and /radio/up: the eNB goes and comes
`

/** The control API: for programs of this machine alone, never for a page that a browser shows. */
export function controlServer(place: ControlPlace): Server {
  return createServer((request, response) => {
    void answer(request, response, place)
  })
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  place: ControlPlace,
): Promise<void> {
  try {
    const { method = 'GET', url = '/', headers } = request
    refuseStrangers(headers.host, headers.origin, headers['sec-fetch-site'])
    const [path = '/', query = ''] = url.split('?', 2)
    const body = await bodyOf(request)
    if (path === '/' && method === 'GET') return send(response, 200, 'text/plain', GUIDE)
    const { status, body: shown } = await control(
      { method, path, query: new URLSearchParams(query), body },
      place,
    )
    send(response, status, 'application/json', `${JSON.stringify(shown)}\n`)
  } catch (error) {
    const { status, message } = problemOf(error)
    send(response, status, 'application/json', `${JSON.stringify({ error: message })}\n`)
  }
}

/** A page of another origin, or a name that was made to point here, could otherwise use the browser of this machine. */
function refuseStrangers(host: string | undefined, origin: string | undefined, site: unknown): void {
  if (host === undefined || !LOOPBACK.test(host))
    throw new ControlError('only for this machine', { status: 403 })
  const isForeign = origin !== undefined && origin !== `http://${host}`
  if (isForeign || site === 'cross-site' || site === 'same-site')
    throw new ControlError('not for pages of another origin', { status: 403 })
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request) {
    const bytes = part as Buffer // a request without an encoding gives buffers
    parts.push(bytes)
    size += bytes.length
    if (size > BODY_MAX) throw new ControlError('the body is too large', { status: 413 })
  }
  return Buffer.concat(parts).toString('utf8')
}

function problemOf(error: unknown): { readonly status: number; readonly message: string } {
  if (error instanceof ControlError) return error
  if (error instanceof CardsError) return { status: 400, message: error.message }
  return { status: 500, message: 'the lab core failed' }
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' })
  response.end(body)
}
