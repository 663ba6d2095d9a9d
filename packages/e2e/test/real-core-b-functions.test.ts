import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import {
  CORE_B_ROLES,
  FURTHER_RELEASE,
  needFunctions,
  needFurtherFunctions,
  startCoreB,
} from '../containers/core-b-containers.ts'
import { askForSession, askSubscriber, authenticate, UNKNOWN } from '../containers/core-b-questions.ts'
import { coreInForce } from '../containers/core-health.ts'
import { startDatabase } from '../containers/database.ts'
import { startPodman } from '../containers/engine.ts'
import { enterOwnMachine, machineFolder } from '../containers/own-machine.ts'
import { askRegistration } from '../containers/policy-control.ts'
import { allSynced, importCard, RECORDED_CARD } from '../containers/provisioning.ts'
import { startUserPlane } from '../containers/user-plane.ts'
import { type Service, startService, until } from '../harness/service.ts'

needFunctions()
needFurtherFunctions()
enterOwnMachine(import.meta.filename)

const real = suite('e2e/real-core-b-functions')
/** As `policy-control.ts` asks. */
const PLACE = { mcc: '999', mnc: '05' }
const CARD = { ...RECORDED_CARD, imsi: '999050000000060' }
const PATIENCE_MS = 180_000
const UPF = '127.0.0.8'
const PCF = 'http://127.0.0.7:8000'

const engine = await startPodman()
const userPlane = await startUserPlane(UPF)
const [core, database] = await Promise.all([
  startCoreB(engine, ['nrf', 'udr', 'udm', 'ausf', 'nssf', 'pcf', 'smf', 'amf']),
  startDatabase(),
])
const configFile = join(machineFolder(), 'control.yaml')
let service: Service
let hash: string

real.before(
  async () => {
    const config = {
      core: 'core_b',
      plmn: PLACE,
      southbound: { driver: 'container' },
      hss: {
        driver: 'core_b',
        mongo_url: 'mongodb://127.0.0.1:27017/free5gc',
        engine_socket: engine.socket,
      },
      policy: { apns: ['internet', 'iot.example'] },
      sims: { drift_interval: '2s' },
      core_b: {
        config_dir: core.configDir,
        containers: core.containers,
        amf_oam_url: 'http://127.0.0.18:8000',
        release: FURTHER_RELEASE,
        charging: false,
        oauth: false,
      },
    }
    writeFileSync(configFile, JSON.stringify(config))
    service = await startService({
      dataDir: join(machineFolder(), 'data'),
      flags: ['--config', configFile],
    })
    await coreInForce(service, PATIENCE_MS)
    hash = await importCard(service, CARD, 'internet;iot.example')
    await allSynced(service, PATIENCE_MS)
  },
  { limitMs: 3 * PATIENCE_MS },
)

real.after(
  async () => {
    await service?.stop()
    userPlane.close()
    await database.close()
    await engine.close()
  },
  { limitMs: 360_000 },
)

real('has every function run with the file that was rendered for it', async () => {
  for (const role of CORE_B_ROLES) {
    const { isRunning } = await engine.state(core.containers[role])
    assert.ok(isRunning, `${role}: ${isRunning ? '' : await engine.output(core.containers[role])}`)
  }
})

real('authenticates a card by AUSF, UDM and UDR, and no other card', async () => {
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
  assert.is(nobody.challenged.status, UNKNOWN)
})

real('answers for a SIM at the UDM as the AMF and the SMF ask', async () => {
  const access = await askSubscriber(CARD.imsi, 'am-data', PLACE)
  assert.is(access.status, 200, JSON.stringify(access.body))
  assert.equal(access.body.nssai.defaultSingleNssais, [{ sst: 1, sd: '010203' }])
  const selection = await askSubscriber(CARD.imsi, 'smf-select-data', PLACE)
  assert.is(selection.status, 200, JSON.stringify(selection.body))
  const names = selection.body.subscribedSnssaiInfos['01010203'].dnnInfos.map(
    ({ dnn }: { dnn: string }) => dnn,
  )
  assert.equal(names, ['internet', 'iot.example'])
  const session = await askSubscriber(CARD.imsi, 'sm-data', PLACE)
  assert.is(session.status, 200, JSON.stringify(session.body))
  assert.equal(Object.keys(session.body).sort(), ['internet', 'iot.example'])
})

/** What the SMF orders of the UPF for a session, kbit/s: every rate that was told. */
async function ordered(dnn: string): Promise<readonly (readonly [number, number])[]> {
  const { status, body } = await askForSession(CARD.imsi, dnn, PLACE)
  assert.is(status, 201, `${dnn}: ${JSON.stringify(body)}`)
  return userPlane.rates()
}

real(
  'gets sessions at its own rate from the real SMF and PCF, and sees the rate of a hand until it is mended',
  async () => {
    await until(async () => userPlane.associations() > 0, PATIENCE_MS)
    assert.is((await askRegistration(PCF, CARD.imsi)).status, 201)
    const { body } = await service.request('GET', `/v1/sims/${hash}`)
    const [up, down] = [body.ambr.uplink_bps / 1000, body.ambr.downlink_bps / 1000]
    const isOwn = (rates: Awaited<ReturnType<typeof ordered>>): boolean =>
      rates.some(([upward, downward]) => upward === up && downward === down)
    for (const dnn of ['internet', 'iot.example']) assert.ok(isOwn(await ordered(dnn)), dnn)
    assert.is((await askForSession(CARD.imsi, 'other', PLACE)).status, 403)
    const sessions = database.collection('free5gc', 'subscriptionData.provisionedData.smData')
    await sessions.updateMany({}, { $set: { 'dnnConfigurations.internet.sessionAmbr.uplink': '7 Mbps' } })
    await until(async () => isOwn(await ordered('internet')), PATIENCE_MS)
    await allSynced(service, PATIENCE_MS)
  },
  { limitMs: 3 * PATIENCE_MS },
)

real(
  'gives no session to a SIM that is suspended, and no challenge to one that is revoked',
  async () => {
    await service.request('POST', `/v1/sims/${hash}/suspend?wait=30s`, { body: {} })
    assert.is((await askForSession(CARD.imsi, 'internet', PLACE)).status, 403)
    await service.request('POST', `/v1/sims/${hash}/resume`, { body: {} })
    await until(async () => (await askForSession(CARD.imsi, 'internet', PLACE)).status === 201, PATIENCE_MS)
    assert.is((await authenticate(CARD, PLACE)).confirmed?.body.authResult, 'AUTHENTICATION_SUCCESS')
    await service.request('POST', `/v1/sims/${hash}/revoke?wait=30s`, { body: {} })
    await until(async () => (await authenticate(CARD, PLACE)).challenged.status === UNKNOWN, PATIENCE_MS)
  },
  { limitMs: 3 * PATIENCE_MS },
)

real.run()
