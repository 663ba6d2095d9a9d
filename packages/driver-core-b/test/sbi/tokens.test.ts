import { assert, failureOf, suite } from '@steeple/testkit'
import { attach, imsiOf, patient, withClients } from '../support/clients.ts'

const tokens = suite('driver-core-b/tokens')

const OWN = '8f0d3c7e-52b1-4a6e-9c84-5d2f6b7a1e90'

tokens('asks no NRF where nobody wants a token', () =>
  withClients(async ({ core, amf }) => {
    core.behaviour.oauth = false
    attach(core, imsiOf(1))
    assert.is((await amf.registrations(patient())).length, 1)
    assert.is(core.asked.nrf.length, 0)
  }),
)

tokens('registers once and uses one token until shortly before it expires', () =>
  withClients(async ({ core, clock, amf }) => {
    attach(core, imsiOf(1))
    for (const _ of [1, 2, 3]) await amf.registrations(patient())
    assert.is(core.profiles.get(OWN), 'AF')
    assert.is(core.tokens.length, 1)
    await clock.advance(939_000)
    await amf.registrations(patient())
    assert.is(core.tokens.length, 1)
    await clock.advance(2_000)
    await amf.registrations(patient())
    assert.is(core.tokens.length, 2)
    assert.is(core.asked.nrf.filter(({ method }) => method === 'PUT').length, 1)
  }),
)

tokens('asks for one token however many calls wait for it', () =>
  withClients(async ({ core, amf }) => {
    for (const number of [1, 2, 3, 4]) attach(core, imsiOf(number))
    await Promise.all([1, 2, 3, 4].map((number) => amf.registrationsOf(imsiOf(number), patient())))
    assert.is(core.asked.nrf.filter(({ method }) => method === 'PUT').length, 1)
    assert.ok(core.tokens.length <= 2, 'calls that were refused at different times may need a second')
  }),
)

tokens('registers again after an NRF that has forgotten everybody', () =>
  withClients(async ({ core, clock, amf }) => {
    await amf.registrations(patient())
    core.profiles.delete(OWN)
    await clock.advance(2_000_000)
    assert.equal(await amf.registrations(patient()), [])
    assert.is(core.profiles.get(OWN), 'AF')
  }),
)

tokens('takes a fresh token when the AMF refuses the one it had', () =>
  withClients(async ({ core, amf }) => {
    await amf.registrations(patient())
    core.behaviour.distrustsNrf = true
    let refused = 0
    core.behaviour.instead.set('amf', ({ authorization }) => {
      if (authorization === undefined || refused > 0) return undefined
      refused += 1
      core.behaviour.distrustsNrf = false
      return {
        status: 401,
        body: '{"error":"verify OAuth parse: token has invalid claims: token is expired"}',
      }
    })
    assert.equal(await amf.registrations(patient()), [])
    assert.is(core.tokens.length, 2)
  }),
)

tokens('says what to do when the AMF refuses a fresh one too', () =>
  withClients(async ({ core, amf }) => {
    core.behaviour.distrustsNrf = true
    const error = await failureOf(amf.registrations(patient()))
    assert.is(error.code, 'southbound_unavailable')
    assert.match(error.message, /does not take the NRF's token \(401\): nrfCertPem in amfcfg.yaml/)
  }),
)

tokens('says what to do when no AMF is registered, when no service is listed, when the NRF is away', () =>
  withClients(async ({ core, amf }) => {
    core.profiles.delete('11111111-1111-4111-8111-111111111111')
    assert.match(
      (await failureOf(amf.registrations(patient()))).message,
      /invalid_client\): no AMF is registered/,
    )
    core.profiles.set('11111111-1111-4111-8111-111111111111', 'AMF')
    core.behaviour.instead.set('nrf', ({ path }) =>
      path === '/oauth2/token' ? { status: 400, body: '{"error":"invalid_scope"}' } : undefined,
    )
    assert.match(
      (await failureOf(amf.registrations(patient()))).message,
      /list namf-oam under serviceNameList/,
    )
    await core.stop('nrf')
    assert.match(
      (await failureOf(amf.registrations(patient()))).message,
      /OAuth2 is on\) and there is none: the NRF at http:\/\/127.0.0.1:\d+ cannot be asked: .*core_b.nrf_url/,
    )
  }),
)

tokens('does without once the core has given tokens up', () =>
  withClients(async ({ core, clock, amf }) => {
    await amf.registrations(patient())
    core.behaviour.oauth = false
    await core.stop('nrf')
    await clock.advance(2_000_000)
    await failureOf(amf.registrations(patient()))
    assert.equal(await amf.registrations(patient()), [])
  }),
)

tokens('cuts off without a token on releases whose callbacks are no service', () =>
  withClients(async ({ core, amf }) => {
    core.behaviour.listsCallbacks = false
    attach(core, imsiOf(1))
    assert.is(await amf.deregister(imsiOf(1), patient()), true)
    const [call] = core.asked.amf.filter(({ method }) => method === 'POST')
    assert.is(call?.authorization, undefined)
  }),
)

tokens('takes its profile off the NRF when it leaves, and only if it put one there', () =>
  withClients(async ({ core, amf, tokens: source }) => {
    await source.leave(patient())
    assert.is(core.asked.nrf.length, 0)
    await amf.registrations(patient())
    await source.leave(patient())
    assert.is(core.profiles.has(OWN), false)
  }),
)

tokens('puts no token into an error', () =>
  withClients(async ({ core, amf }) => {
    core.behaviour.distrustsNrf = true
    core.behaviour.instead.set('amf', ({ authorization = 'none' }) => ({
      status: 401,
      body: JSON.stringify({ error: `verify OAuth parse: token is malformed: ${authorization}` }),
    }))
    const error = await failureOf(amf.registrations(patient()))
    for (const token of core.tokens) assert.not.ok(`${error.stack} ${String(error.cause)}`.includes(token))
    assert.is(core.tokens.length, 1)
  }),
)

tokens.run()
