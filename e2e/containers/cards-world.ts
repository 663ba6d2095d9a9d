import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, eventually, type Suite } from '@steeple/testkit'
import { type Service, startService } from '../harness/service.ts'
import { CORE_B_ROLES, startCoreB, type TestCoreB } from './core-b-containers.ts'
import {
  askForSession,
  askSubscriber,
  authenticate,
  resynchronisation,
  type Slice,
  suciOf,
  unknownStatus,
} from './core-b-questions.ts'
import { coreInForce } from './core-containers.ts'
import { startDatabase, type TestDatabase } from './database.ts'
import { type Engine, startPodman } from './engine.ts'
import { machineFolder } from './own-machine.ts'
import { askRegistration } from './policy-control.ts'
import { allSynced, importCard, type KnownCard, RECORDED_CARD } from './provisioning.ts'

/** The network of the tests, as `policy-control.ts` asks. */
const PLACE = { mcc: '999', mnc: '05' }
const CARD: KnownCard = { ...RECORDED_CARD, imsi: '999050000000060' }
/** What a card may reach, one of them with a dot. */
const APNS = ['internet', 'iot.example'] as const

const PCF = 'http://127.0.0.7:8000'
const AUTHENTICATION = 'subscriptionData.authenticationData.authenticationSubscription'
/** TS 33.102 annex C.1.1.3: the SQN without the index of its lowest five bits. */
const INDEX_BITS = 5n

/** A core with a node beside it that has put `CARD` into its database. */
interface ServedCore {
  readonly engine: Engine
  readonly containers: TestCoreB['containers']
  readonly service: () => Service
  readonly hash: () => string
  readonly database: TestDatabase
  readonly userPlane: UserPlane
  /** The release of AUSF and UDM, as far as they answer in words of their own. */
  readonly release: string
  readonly slices: readonly Slice[]
}

/** Adds what a core does for a card: authenticates it, tells of it, gives it sessions, and what it does no more. */
function coreServesCardsConformance(real: Suite, core: ServedCore): void {
  functions(real, core)
  authentication(real, core)
  data(real, core)
  sessions(real, core)
  ends(real, core)
}

function functions(real: Suite, { engine, containers }: ServedCore): void {
  real('has every function run with the file that was rendered for it', async () => {
    for (const role of CORE_B_ROLES) {
      const { isRunning } = await engine.state(containers[role])
      assert.ok(isRunning, `${role}: ${isRunning ? '' : await engine.output(containers[role])}`)
    }
  })
}

function authentication(real: Suite, { database, release }: ServedCore): void {
  const heldSqn = async (): Promise<bigint> => {
    const found = await database.collection('free5gc', AUTHENTICATION).findOne({ ueId: `imsi-${CARD.imsi}` })
    const { sequenceNumber } = JSON.parse(JSON.stringify(found))
    return BigInt(`0x${sequenceNumber.sqn ?? sequenceNumber}`)
  }

  real('authenticates a card by AUSF and UDM, and no other card', async () => {
    const { challenged, answered, confirmed } = await authenticate(CARD, PLACE)
    assert.is(challenged.status, 201, JSON.stringify(challenged.body))
    assert.ok(answered?.isOfTheNetwork, 'the card knows the network by its code')
    assert.is(confirmed?.status, 200)
    assert.is(confirmed?.body.authResult, 'AUTHENTICATION_SUCCESS')
    assert.is(confirmed?.body.kseaf, answered?.kseaf)
    const other = await authenticate({ ...CARD, ki: CARD.opc }, PLACE)
    assert.is(other.answered?.isOfTheNetwork, false)
    assert.is(other.confirmed?.body.authResult, 'AUTHENTICATION_FAILURE')
    const nobody = await authenticate({ ...CARD, imsi: '999050000000061' }, PLACE)
    assert.is(nobody.challenged.status, unknownStatus(release))
  })

  real('authenticates a card by a SUCI, and tells whose it is', async () => {
    const { answered, confirmed } = await authenticate(CARD, PLACE, { name: suciOf(CARD.imsi, PLACE) })
    assert.ok(answered?.isOfTheNetwork)
    assert.is(confirmed?.body.supi, `imsi-${CARD.imsi}`)
    assert.is(confirmed?.body.kseaf, answered?.kseaf)
  })

  real('asks a card under a higher number each time, and goes on from where the card is', async () => {
    const first = await authenticate(CARD, PLACE)
    const second = await authenticate(CARD, PLACE)
    const [before, after] = [first, second].map(({ answered }) => BigInt(`0x${answered?.sqn ?? ''}`))
    assert.ok((after ?? 0n) > (before ?? 0n), `${before} ${after}`)
    assert.ok((await heldSqn()) >= (after ?? 0n), 'what it holds')
    const ahead = ((after ?? 0n) >> INDEX_BITS) + 4_000n
    const own = (ahead << INDEX_BITS).toString(16).padStart(12, '0')
    const resynchronizationInfo = resynchronisation(CARD, second.challenged.body['5gAuthData'], own)
    const third = await authenticate(CARD, PLACE, { resynchronizationInfo })
    assert.ok(third.answered?.isOfTheNetwork, JSON.stringify(third.challenged.body))
    assert.ok(BigInt(`0x${third.answered?.sqn}`) > ahead << INDEX_BITS, third.answered?.sqn)
    assert.is(third.confirmed?.body.authResult, 'AUTHENTICATION_SUCCESS')
    // A code that another key made moves nothing.
    const sqn = await heldSqn()
    const forged = {
      resynchronizationInfo: resynchronisation(
        { ...CARD, ki: CARD.opc },
        third.challenged.body['5gAuthData'],
        own,
      ),
    }
    assert.is.not((await authenticate(CARD, PLACE, forged)).challenged.status, 201)
    assert.is(await heldSqn(), sqn)
  })
}

function data(real: Suite, { release, slices }: ServedCore): void {
  real('answers for a SIM at the UDM as the AMF and the SMF ask', async () => {
    const access = await askSubscriber(CARD.imsi, 'am-data', PLACE, { release })
    assert.is(access.status, 200, JSON.stringify(access.body))
    assert.equal(access.body.nssai.defaultSingleNssais, slices)
    const selection = await askSubscriber(CARD.imsi, 'smf-select-data', PLACE, { release })
    assert.is(selection.status, 200, JSON.stringify(selection.body))
    for (const { sst, sd = '' } of slices) {
      const key = `0${sst}${sd}`
      const { dnnInfos } = selection.body.subscribedSnssaiInfos[key]
      assert.equal(
        dnnInfos.map(({ dnn }: { dnn: string }) => dnn),
        APNS,
        key,
      )
    }
    for (const slice of slices) {
      const session = await askSubscriber(CARD.imsi, 'sm-data', PLACE, { release, slice })
      assert.is(session.status, 200, JSON.stringify(session.body))
      assert.equal(Object.keys(session.body).sort(), APNS, `SST ${slice.sst}`)
    }
  })
}

function sessions(real: Suite, { service, hash, database, userPlane, slices }: ServedCore): void {
  /** What the SMF orders of the UPF for a session, kbit/s: every rate that was told. */
  async function ordered(dnn: string, slice?: Slice): Promise<readonly (readonly [number, number])[]> {
    const before = userPlane.begun()
    const { status, body } = await askForSession(CARD.imsi, dnn, PLACE, slice)
    // The SMF of 3.4 answers before it has told the UPF.
    if (status === 201) await eventually(async () => userPlane.begun() > before, PATIENCE_MS)
    assert.is(status, 201, `SST ${slice?.sst}, ${dnn}: ${JSON.stringify(body)}`)
    return userPlane.rates()
  }

  real(
    'gets sessions at its own rate from the real SMF and PCF, and sees the rate of a hand until it is mended',
    async () => {
      await eventually(async () => userPlane.associations() > 0, PATIENCE_MS)
      assert.is((await askRegistration(PCF, CARD.imsi)).status, 201)
      const { body } = await service().request('GET', `/v1/sims/${hash()}`)
      const [up, down] = [body.ambr.uplink_bps / 1000, body.ambr.downlink_bps / 1000]
      const isOwn = (rates: Awaited<ReturnType<typeof ordered>>): boolean =>
        rates.some(([upward, downward]) => upward === up && downward === down)
      for (const slice of slices) {
        for (const dnn of APNS)
          assert.ok(isOwn(await ordered(dnn, slice)), `SST ${slice.sst}, ${dnn}: ${userPlane.rates()}`)
      }
      assert.is((await askForSession(CARD.imsi, 'other', PLACE)).status, 403)
      const stored = database.collection('free5gc', 'subscriptionData.provisionedData.smData')
      await stored.updateMany({}, { $set: { 'dnnConfigurations.internet.sessionAmbr.uplink': '7 Mbps' } })
      await eventually(async () => isOwn(await ordered('internet')), PATIENCE_MS)
      await allSynced(service(), PATIENCE_MS)
    },
    { limitMs: 3 * PATIENCE_MS },
  )
}

function ends(real: Suite, { service, hash, release }: ServedCore): void {
  real(
    'gives no session to a SIM that is suspended, and no challenge to one that is revoked',
    async () => {
      const asked = async (): Promise<number> => (await askForSession(CARD.imsi, 'internet', PLACE)).status
      await service().request('POST', `/v1/sims/${hash()}/suspend?wait=30s`, { body: {} })
      assert.is(await asked(), 403)
      await service().request('POST', `/v1/sims/${hash()}/resume`, { body: {} })
      await eventually(async () => (await asked()) === 201, PATIENCE_MS)
      assert.is((await authenticate(CARD, PLACE)).confirmed?.body.authResult, 'AUTHENTICATION_SUCCESS')
      await service().request('POST', `/v1/sims/${hash()}/revoke?wait=30s`, { body: {} })
      const gone = unknownStatus(release)
      await eventually(async () => (await authenticate(CARD, PLACE)).challenged.status === gone, PATIENCE_MS)
    },
    { limitMs: 3 * PATIENCE_MS },
  )
}

const PATIENCE_MS = 180_000
const UPF = '127.0.0.8'

/** A release, and the slices that it is given. */
export interface CardsPlan {
  readonly release: string
  readonly slices: readonly Slice[]
}

/** Registers that a core of these functions serves a card, with what `more` starts beside its database. */
export async function cardsConformance(
  real: Suite,
  given: Parameters<typeof startCoreB>[1],
  plan: CardsPlan,
  more: (database: TestDatabase) => Promise<{ close(): void } | undefined> = async () => undefined,
): Promise<void> {
  const engine = await startPodman()
  const userPlane = await startUserPlane(UPF)
  const [core, database] = await Promise.all([startCoreB(engine, given), startDatabase()])
  let service: Service
  let beside: { close(): void } | undefined
  let hash: string
  real.before(
    async () => {
      service = await startCardsNode(engine, core, plan)
      await coreInForce(service, PATIENCE_MS)
      hash = await importCard(service, CARD, APNS.join(';'))
      await allSynced(service, PATIENCE_MS)
      beside = await more(database)
    },
    { limitMs: 3 * PATIENCE_MS },
  )
  real.after(
    async () => {
      await service?.stop()
      beside?.close()
      userPlane.close()
      await database.close()
      await engine.close()
    },
    { limitMs: 360_000 },
  )
  coreServesCardsConformance(real, {
    engine,
    containers: core.containers,
    service: () => service,
    hash: () => hash,
    database,
    userPlane,
    ...plan,
  })
}

/** Starts a node that drives `core` as a release. */
async function startCardsNode(
  engine: Engine,
  core: TestCoreB,
  { release, slices }: CardsPlan,
): Promise<Service> {
  const config = {
    core: 'core_b',
    plmn: PLACE,
    southbound: { driver: 'container' },
    hss: {
      driver: 'core_b',
      mongo_url: 'mongodb://127.0.0.1:27017/free5gc',
      engine_socket: engine.socket,
    },
    policy: { apns: APNS },
    sims: { drift_interval: '2s' },
    core_b: {
      config_dir: core.configDir,
      containers: core.containers,
      amf_oam_url: 'http://127.0.0.18:8000',
      slices,
      release,
      charging: false,
      oauth: false,
    },
  }
  const configFile = join(machineFolder(), 'control.yaml')
  writeFileSync(configFile, JSON.stringify(config))
  return await startService({ dataDir: join(machineFolder(), 'data'), flags: ['--config', configFile] })
}

const PORT = 8805
const MESSAGE = { heartbeat: 1, association: 5, establishment: 50, modification: 52, deletion: 54 } as const
/** Information elements of TS 29.244 §8.1.2. */
const IE = {
  createQer: 7,
  cause: 19,
  mbr: 26,
  upFeatures: 43,
  fSeid: 57,
  nodeId: 60,
  recoveryTime: 96,
} as const
const ACCEPTED = 1

/** A UPF's answers to an SMF, without any traffic: it takes everything. TS 29.244. */
interface UserPlane {
  /** How often an SMF has associated with it. */
  associations(): number
  /** Sessions that it holds. */
  sessions(): number
  /** How many sessions it was ever told to set up. */
  begun(): number
  /** The rates of the latest session, kbit/s up and down, one for each QER that has some. */
  rates(): readonly (readonly [number, number])[]
  close(): void
}

interface Element {
  readonly type: number
  readonly value: Buffer
}

/** Starts one at `address`. */
async function startUserPlane(address: string): Promise<UserPlane> {
  const socket = createSocket('udp4')
  const own = Buffer.from(address.split('.').map(Number))
  const seids = new Map<bigint, bigint>()
  let [associations, lastSeid] = [0, 0n]
  let rates: readonly (readonly [number, number])[] = []
  const nodeId = element(IE.nodeId, Buffer.concat([Buffer.of(0), own]))
  const recovery = element(IE.recoveryTime, Buffer.of(0xea, 0, 0, 1))
  const cause = element(IE.cause, Buffer.of(ACCEPTED))

  function establish(body: Buffer): { readonly seid: bigint; readonly answer: Buffer } {
    const elements = elementsIn(body)
    lastSeid += 1n
    const seid = elements.find(({ type }) => type === IE.fSeid)?.value.readBigUInt64BE(1) ?? 0n
    seids.set(lastSeid, seid)
    rates = elements.filter(({ type }) => type === IE.createQer).flatMap(({ value }) => ratesIn(value))
    const number = Buffer.alloc(8)
    number.writeBigUInt64BE(lastSeid)
    const fSeid = element(IE.fSeid, Buffer.concat([Buffer.of(2), number, own]))
    return { seid, answer: Buffer.concat([nodeId, cause, fSeid]) }
  }

  function answerTo(type: number, body: Buffer, seid: bigint): { seid?: bigint; answer: Buffer } | undefined {
    if (type === MESSAGE.heartbeat) return { answer: recovery }
    if (type === MESSAGE.establishment) return establish(body)
    const theirs = seids.get(seid) ?? 0n
    if (type === MESSAGE.modification) return { seid: theirs, answer: cause }
    if (type === MESSAGE.deletion) {
      seids.delete(seid)
      return { seid: theirs, answer: cause }
    }
    if (type !== MESSAGE.association) return undefined
    associations += 1
    return { answer: Buffer.concat([nodeId, cause, recovery, element(IE.upFeatures, Buffer.of(0, 0))]) }
  }

  socket.on('message', (message: Buffer, from: RemoteInfo) => {
    const type = message.readUInt8(1)
    const hasSeid = (message.readUInt8(0) & 1) === 1
    const [at, seid] = hasSeid ? [12, message.readBigUInt64BE(4)] : [4, 0n]
    const sequence = message.subarray(at, at + 3)
    const answer = answerTo(type, message.subarray(at + 4), seid)
    if (answer !== undefined) socket.send(packed(type + 1, sequence, answer), from.port, from.address)
  })
  socket.bind(PORT, address)
  await once(socket, 'listening')
  return {
    associations: () => associations,
    sessions: () => seids.size,
    begun: () => Number(lastSeid),
    rates: () => rates,
    close: () => void socket.close(),
  }
}

function packed(
  type: number,
  sequence: Buffer,
  { seid, answer }: { readonly seid?: bigint; readonly answer: Buffer },
): Buffer {
  const number = Buffer.alloc(seid === undefined ? 0 : 8)
  if (seid !== undefined) number.writeBigUInt64BE(seid)
  const head = Buffer.of(seid === undefined ? 0x20 : 0x21, type, 0, 0)
  head.writeUInt16BE(number.length + 4 + answer.length, 2)
  return Buffer.concat([head, number, sequence, Buffer.of(0), answer])
}

function element(type: number, value: Buffer): Buffer {
  const head = Buffer.alloc(4)
  head.writeUInt16BE(type)
  head.writeUInt16BE(value.length, 2)
  return Buffer.concat([head, value])
}

function elementsIn(body: Buffer): readonly Element[] {
  const found: Element[] = []
  for (let at = 0; at + 4 <= body.length; ) {
    const end = at + 4 + body.readUInt16BE(at + 2)
    found.push({ type: body.readUInt16BE(at), value: body.subarray(at + 4, end) })
    at = end
  }
  return found
}

function ratesIn(qer: Buffer): readonly (readonly [number, number])[] {
  return elementsIn(qer)
    .filter(({ type }) => type === IE.mbr)
    .map(({ value }) => [value.readUIntBE(0, 5), value.readUIntBE(5, 5)] as const)
}
