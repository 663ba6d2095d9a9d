import { assert, failureOf, suite } from '@steeple/testkit'
import { attach, imsiOf, patient, withClients } from '../support/clients.ts'

const http = suite('driver-core-b/HTTP')

http('follows the redirect of a path with a slash too many', () =>
  withClients(async ({ core, amf }) => {
    core.behaviour.oauth = false
    attach(core, imsiOf(1))
    let isFirst = true
    core.behaviour.instead.set('amf', ({ path }) => {
      if (!isFirst) return undefined
      isFirst = false
      return { status: 301, location: path }
    })
    const error = await failureOf(amf.registrations(patient()))
    assert.match(error.message, /answers 301/)
    core.behaviour.instead.set('amf', ({ path }) =>
      path.endsWith('v1/') ? { status: 301, location: '/namf-oam/v1/registered-ue-context' } : undefined,
    )
    await amf.ping(patient())
  }),
)

http('follows no redirect to somewhere else', () =>
  withClients(async ({ core, amf }) => {
    core.behaviour.oauth = false
    core.behaviour.instead.set('amf', () => ({ status: 301, location: `${core.urls.smf}/nsmf-oam/v1/` }))
    await failureOf(amf.registrations(patient()))
    assert.is(core.asked.smf.length, 0)
  }),
)

http('gives up a function that does not answer', () =>
  withClients(
    async ({ core, amf }) => {
      core.behaviour.oauth = false
      core.behaviour.instead.set('amf', () => 'hang')
      assert.match((await failureOf(amf.registrations(patient()))).message, /no answer within 100 ms/)
    },
    { answerMs: 100 },
  ),
)

http('gives up a function that answers without end, that is away', async () => {
  await withClients(
    async ({ core, amf }) => {
      core.behaviour.oauth = false
      core.behaviour.instead.set('amf', () => ({ status: 200, body: `[${' '.repeat(2000)}]` }))
      assert.match((await failureOf(amf.registrations(patient()))).message, /larger than 1000 bytes/)
      await core.stop('amf')
      const error = await failureOf(amf.registrationsOf(imsiOf(1), patient()))
      assert.is(error.code, 'southbound_unavailable')
      assert.match(error.message, /nobody listens there/)
      assert.not.match(error.message, /99970/)
    },
    { answerMs: 30_000, bodyBytes: 1000 },
  )
})

http('stops at once when its signal fires', () =>
  withClients(async ({ core, amf }) => {
    core.behaviour.oauth = false
    core.behaviour.instead.set('amf', () => 'hang')
    const reason = new Error('enough')
    const controller = new AbortController()
    const call = failureOf(amf.registrations(controller.signal))
    controller.abort(reason)
    assert.is(await call, reason)
  }),
)

http('says what to list when the AMF has no OAM service', () =>
  withClients(async ({ core, amf }) => {
    core.behaviour.oauth = false
    core.behaviour.instead.set('amf', () => ({ status: 404, body: '404 page not found', type: 'text/plain' }))
    // A subscriber must not be taken for absent because nobody could be asked.
    assert.match((await failureOf(amf.registrationsOf(imsiOf(1), patient()))).message, /list namf-oam/)
  }),
)

http.run()
