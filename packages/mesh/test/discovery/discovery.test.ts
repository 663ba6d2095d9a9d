import type { Settings } from '@steeple/contracts'
import { nodeCaRef, nodeCredentialsRef, nodeIdentityRef } from '@steeple/contracts'
import { assert, fakeContext, type Overrides, suite } from '@steeple/testkit'
import type { PeeringConfig } from '../../src/config.ts'
import { type Announcement, txtOf } from '../../src/discovery/announcement.ts'
import type { MdnsSocketParts } from '../../src/discovery/discovery.ts'
import { discovery } from '../../src/discovery/discovery.ts'
import type { Member, Members } from '../../src/members.ts'
import { SOME_CERTIFICATE, SOME_FINGERPRINT } from '../support/certificate.ts'

const finding = suite('mesh/discovery')
const OWN = '11111111-2222-4333-8444-555555555555'
const OTHER = '66666666-7777-4888-9999-000000000000'

async function setting(settings: Overrides<Settings> = {}, config: Partial<PeeringConfig> = {}) {
  const announced: (Announcement | undefined)[] = []
  const world = { looks: 0, isOpen: false, parts: undefined as MdnsSocketParts | undefined }
  const list: Member[] = []
  const members: Members = {
    overlay: () => undefined,
    list: () => list,
    hasPutOut: () => false,
    isRevoked: () => false,
    publish: async () => undefined,
    onChange: () => () => undefined,
  }
  const renewed: (() => void)[] = []
  const identity = {
    tls: () => ({ key: '', cert: SOME_CERTIFICATE, trusted: [] }),
    membership: () => undefined,
    onChange: (listener: () => void) => {
      renewed.push(listener)
      return () => undefined
    },
  }
  const fake = fakeContext<PeeringConfig>({
    id: 'mesh',
    // What discovery does not read is not there.
    config: { enabled: true, mdns: true, name: 'Tal', ...config } as PeeringConfig,
    settings: { server: { listen: '0.0.0.0:8443' }, tls: { enabled: true }, ...settings },
    services: new Map<string, object>([
      [nodeIdentityRef.id, { nodeId: OWN, name: 'box' }],
      [nodeCredentialsRef.id, identity],
      [nodeCaRef.id, { caPem: '' }],
    ]),
  })
  const { part, suggestions } = await discovery(fake.context, members, {
    open: (parts) => {
      Object.assign(world, { isOpen: true, parts })
      return {
        announce: (one) => void announced.push(one),
        look: () => {
          world.looks += 1
        },
        end: async () => {
          world.isOpen = false
        },
      }
    },
  })
  await part.start?.()
  const say = (nodeId: string, address = '192.0.2.7'): void => {
    const txt = txtOf({ nodeId, name: 'other', meshName: 'Tal', fingerprint: 'ab'.repeat(32), port: 1 })
    world.parts?.heard({ port: 8_443, txt, referer: { address } })
  }
  const detail = async () => (await part.health?.())?.[0]
  return { fake, world, announced, list, renewed, part, suggestions, say, detail }
}

finding('announces this node, again after each change of its certificate, and ends it', async () => {
  const { world, announced, renewed, part } = await setting()
  const wanted = { nodeId: OWN, name: 'box', meshName: 'Tal', fingerprint: SOME_FINGERPRINT, port: 8_443 }
  assert.equal(announced, [wanted])
  for (const listener of renewed) listener()
  assert.equal(announced, [wanted, wanted])
  await part.stop?.('shutdown')
  assert.not.ok(world.isOpen)
})

finding('is silent where nobody could use it, and says why', async () => {
  const silent: readonly (readonly [Overrides<Settings>, Partial<PeeringConfig>, RegExp])[] = [
    [{ server: { listen: '127.0.0.1:8443' } }, {}, /loopback/],
    [{ server: { listen: '[::1]:8443' } }, {}, /loopback/],
    [{ server: { listen: 'localhost:8443' } }, {}, /loopback/],
    [{ server: { listen: '0.0.0.0:0' } }, {}, /no port/],
    [{ tls: { enabled: false } }, {}, /tls\.enabled/],
    [{}, { mdns: false }, /peering\.mdns/],
    [{}, { enabled: false }, /peering/],
  ]
  for (const [settings, config, why] of silent) {
    const { world, detail } = await setting(settings, config)
    assert.not.ok(world.isOpen, String(why))
    assert.match((await detail())?.detail ?? '', why)
  }
})

finding('suggests others, neither itself nor members, until they are silent for three looks', async () => {
  const { fake, world, list, suggestions, say } = await setting()
  say(OWN)
  say(OTHER)
  say(OTHER)
  assert.equal(
    suggestions.list().map(({ nodeId }) => nodeId),
    [OTHER],
  )
  const [found] = suggestions.list()
  list.push({
    nodeId: OTHER,
    name: 'other',
    isRoot: false,
    isSelf: false,
    overlayAddress: '100.64.0.2',
    wireguard: undefined,
  })
  assert.equal(suggestions.list(), [])
  list.pop()
  await fake.clock.advance(120_000)
  assert.is(world.looks, 3)
  assert.ok(suggestions.get(found?.id ?? ''))
  await fake.clock.advance(120_000)
  assert.is(suggestions.get(found?.id ?? ''), undefined)
})

finding('says when the network lets nothing through, and that it does again', async () => {
  const { fake, world, detail } = await setting()
  world.parts?.isWrong(new Error('send ENETUNREACH 224.0.0.251:5353'))
  assert.equal((await detail())?.status, 'degraded')
  assert.match((await detail())?.detail ?? '', /ENETUNREACH/)
  await fake.clock.advance(61_000)
  assert.equal((await detail())?.status, 'ok')
})

finding('confirms nobody that it has not heard', async () => {
  const { suggestions } = await setting()
  const failure = await suggestions.confirm('x', new AbortController().signal).catch((error) => error.code)
  assert.is(failure, 'peer_not_found')
})

finding.run()
