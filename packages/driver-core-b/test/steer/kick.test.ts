import { assert, failureOf, suite } from '@steeple/testkit'
import { createKick } from '../../src/steer/kick.ts'
import { attach, imsiOf, patient, refOf, withClients } from '../support/clients.ts'

const kicks = suite('driver-core-b/kick')

kicks('cuts a phone off so that neither AMF nor SMF knows it any more', () =>
  withClients(async ({ core, amf, smf }) => {
    attach(core, imsiOf(1), 1, 2)
    attach(core, imsiOf(2), 3)
    assert.is(await createKick(amf, smf)(imsiOf(1), patient()), 'yes')
    assert.equal([...core.ues.keys()], [`imsi-${imsiOf(2)}`])
    assert.equal([...core.sessions], [refOf(3)])
  }),
)

kicks('says that a phone is not attached, and changes nothing', () =>
  withClients(async ({ core, amf, smf }) => {
    attach(core, imsiOf(2), 3)
    const before = core.world()
    assert.is(await createKick(amf, smf)(imsiOf(1), patient()), 'not_attached')
    assert.is(core.world(), before)
  }),
)

kicks('cuts off a phone that is still authenticating', () =>
  withClients(async ({ core, amf, smf }) => {
    core.ues.set(`imsi-${imsiOf(1)}`, { accesses: [] })
    assert.is(await createKick(amf, smf)(imsiOf(1), patient()), 'yes')
    assert.is(core.ues.size, 0)
  }),
)

kicks('releases itself what the AMF failed to release, and what hangs on another access', () =>
  withClients(async ({ core, amf, smf }) => {
    const session = (number: number) => ({ id: String(number), ref: refOf(number), dnn: 'internet' })
    core.ues.set(`imsi-${imsiOf(1)}`, {
      accesses: [
        { isConnected: true, sessions: [session(1)] },
        { isConnected: false, sessions: [session(2)] },
      ],
    })
    core.sessions.add(refOf(1)).add(refOf(2))
    core.behaviour.losesReleases = true
    assert.is(await createKick(amf, smf)(imsiOf(1), patient()), 'yes')
    assert.is(core.sessions.size, 0)
  }),
)

kicks('stays pending while the SMF holds a session, although the AMF has forgotten the phone', () =>
  withClients(async ({ core, amf, smf }) => {
    const kick = createKick(amf, smf)
    attach(core, imsiOf(1), 1)
    core.behaviour.losesReleases = true
    core.behaviour.keepsSessions = true
    assert.is(await kick(imsiOf(1), patient()), 'pending')
    assert.is(core.ues.size, 0)
    assert.is(await kick(imsiOf(1), patient()), 'pending')
    core.behaviour.keepsSessions = false
    assert.is(await kick(imsiOf(1), patient()), 'yes')
    assert.is(await kick(imsiOf(1), patient()), 'not_attached')
  }),
)

kicks('ends the sessions of a phone that a restarted AMF has forgotten', () =>
  withClients(async ({ core, amf, smf }) => {
    const kick = createKick(amf, smf)
    attach(core, imsiOf(1), 1)
    attach(core, imsiOf(2), 2)
    kick.seen(await amf.registrations(patient()))
    core.ues.clear()
    assert.is(await kick(imsiOf(1), patient()), 'yes')
    assert.equal([...core.sessions], [refOf(2)])
    assert.is(await kick(imsiOf(1), patient()), 'not_attached')
    // One that has gone by itself.
    core.sessions.clear()
    assert.is(await kick(imsiOf(2), patient()), 'not_attached')
  }),
)

kicks('stays pending while the SMF cannot be asked', () =>
  withClients(async ({ core, amf, smf }) => {
    const kick = createKick(amf, smf)
    attach(core, imsiOf(1), 1)
    core.behaviour.instead.set('smf', () => ({ status: 500 }))
    assert.is(await kick(imsiOf(1), patient()), 'pending')
    core.behaviour.instead.delete('smf')
    assert.is(await kick(imsiOf(1), patient()), 'yes')
  }),
)

kicks(
  'is done with a phone that is back at once, since it gets no session, and not with one that gets one',
  () =>
    withClients(async ({ core, amf, smf }) => {
      const kick = createKick(amf, smf)
      attach(core, imsiOf(1), 1)
      core.behaviour.comesBack = []
      assert.is(await kick(imsiOf(1), patient()), 'yes')
      assert.is(core.sessions.size, 0)
      attach(core, imsiOf(1), 2)
      core.behaviour.comesBack = [{ id: '3', ref: refOf(3), dnn: 'internet' }]
      assert.is(await kick(imsiOf(1), patient()), 'pending')
    }),
)

kicks('throws when the AMF cannot be asked', () =>
  withClients(async ({ core, amf, smf }) => {
    await core.stop('amf')
    const error = await failureOf(createKick(amf, smf)(imsiOf(1), patient()))
    assert.is(error.code, 'southbound_unavailable')
    assert.not.match(error.message, /99970/)
  }),
)

kicks('gives only the reason that releases sessions', () =>
  withClients(async ({ core, amf, smf }) => {
    attach(core, imsiOf(1), 1)
    await createKick(amf, smf)(imsiOf(1), patient())
    const [call] = core.asked.amf.filter(
      ({ method, authorization }) => method === 'POST' && authorization !== undefined,
    )
    assert.equal(JSON.parse(call?.body ?? ''), {
      deregReason: 'UE_INITIAL_REGISTRATION',
      accessType: '3GPP_ACCESS',
    })
  }),
)

kicks('does not wait long for an SMF that hangs', () =>
  withClients(async ({ core, amf, smf }) => {
    attach(core, imsiOf(1), 1, 2, 3)
    core.behaviour.instead.set('smf', () => 'hang')
    const fromMs = performance.now()
    assert.is(await createKick(amf, smf)(imsiOf(1), patient()), 'pending')
    assert.ok(performance.now() - fromMs < 20_000)
    assert.is(core.ues.size, 0)
  }),
)

kicks.run()
