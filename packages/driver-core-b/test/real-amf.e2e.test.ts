import { generateKeyPairSync } from 'node:crypto'
import type { Context } from '@steeple/contracts'
import { assert, eventually, failureOf, fakeContext, suite, tempDir } from '@steeple/testkit'
import { type CoreB, createCoreB } from '../src/core-b.ts'
import { createHttpClient, type HttpClient } from '../src/sbi/http-client.ts'
import { imsiOf, patient } from './support/clients.ts'
import { desiredOf } from './support/desired.ts'
import {
  needRealFunctions,
  ownAddresses,
  type RealFunction,
  startRealFunction,
} from './support/real-functions.ts'
import { type StandInCore, startStandInCore } from './support/stand-in-core.ts'

needRealFunctions()
const real = suite('driver-core-b/a real AMF')

interface Around {
  readonly b: CoreB
  readonly http: HttpClient
  readonly core: StandInCore
  readonly amf: RealFunction
  readonly url: string
}

/** A real AMF with the file that the driver renders for it, and the driver. */
async function withRealAmf(
  tokens: 'off' | 'on' | 'strangers',
  work: (around: Around) => Promise<void>,
): Promise<void> {
  await using dir = await tempDir()
  const core = await startStandInCore()
  core.profiles.clear()
  core.behaviour.oauth = tokens !== 'off'
  const addresses = ownAddresses()
  const url = `http://${addresses.amf}:8000`
  const fake = fakeContext<unknown>({
    id: 'driver-core-b',
    config: {},
    settings: {
      core: 'core_b',
      plmn: { mcc: '999', mnc: '05' },
      core_b: {
        addresses: { amf: addresses.amf, nrf: addresses.nrf },
        amf_oam_url: url,
        smf_oam_url: core.urls.smf,
        nrf_url: core.urls.nrf,
      },
    },
  })
  const http = createHttpClient()
  const b = createCoreB(fake.context as Context, http) // the plugin has no schema of its own
  const { files } = await b.driver.render(desiredOf(fake.context.settings))
  const amf = await startRealFunction('amf', dir.path, files, core, addresses)
  if (tokens === 'strangers') core.key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  try {
    await eventually(async () => {
      assert.is((await b.driver.observe(patient())).services.get('amf'), 'up', amf.output().slice(-500))
    })
    await work({ b, http, core, amf, url })
  } finally {
    await amf.stop()
    await fake.dispose()
    http.close()
    await core.close()
  }
}

real('starts with the rendered file, and takes the tokens that the driver fetches', () =>
  withRealAmf('on', async ({ b, http, core, url }) => {
    const list = `${url}/namf-oam/v1/registered-ue-context`
    const call = { method: 'GET', url: list, peer: 'AMF' } as const
    assert.is((await http.call(call, patient())).status, 401)
    assert.equal(await b.driver.ues(patient()), [])
    assert.equal((await b.oam.registrations(0, patient())).registrations, [])
    assert.is((await b.driver.observe(patient())).attachedUes, 0)
    assert.is(await b.driver.kick(imsiOf(1), patient()), 'not_attached')
    await b.health.look(patient())
    assert.is(b.health.components()[2]?.detail, 'its OAM service answers')
    assert.equal([...core.profiles.values()].toSorted(), ['AF', 'AMF'])
    const metrics = { method: 'GET', url: `${url.replace(/8000$/, '9091')}/metrics`, peer: 'AMF' } as const
    assert.match((await http.call(metrics, patient())).text, /free5gc_amf_business_/)
  }),
)

real('refuses the token of another NRF, and the driver says why', () =>
  withRealAmf('strangers', async ({ b }) => {
    const error = await failureOf(b.driver.ues(patient()))
    assert.match(error.message, /does not take the NRF's token \(401\)/)
  }),
)

real('needs no token where the NRF says so', () =>
  withRealAmf('off', async ({ b, core }) => {
    assert.equal(await b.driver.ues(patient()), [])
    assert.is(await b.driver.kick(imsiOf(1), patient()), 'not_attached')
    assert.equal([...core.profiles.values()], ['AMF'])
  }),
)

real.run()
