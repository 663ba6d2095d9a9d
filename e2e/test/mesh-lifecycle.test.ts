import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, enterOwnMachine, eventually, suite } from '@steeple/testkit'
import { type Box, makeBox } from '../harness/mesh/box.ts'
import { joinMesh, MESH_LIMIT, peersAt, together, WAIT_MS } from '../harness/mesh/mesh.ts'
import { boxPlace, makeLan, phonePlace } from '../harness/mesh/places.ts'
import { type Air, openAir } from '../harness/radio/air.ts'
import { OPEN, radioConfig } from '../harness/radio/box.ts'

enterOwnMachine(import.meta.filename)

const lifecycle = suite('e2e/mesh-lifecycle')
const ROUTE = '10.77.0.0/16'
const folder = mkdtempSync(join(tmpdir(), 'steeple-lifecycle-'))
let air: Air
let mast: Box
let hill: Box

lifecycle.before(async () => {
  makeLan()
  air = await openAir(folder)
  const place = await boxPlace(1)
  const quiet = { SVC_PEERING_MDNS: 'false' }
  mast = await makeBox({
    ...{ name: 'mast', place, folder: join(folder, 'mast') },
    // Phones are let out of a core that the box drives.
    ...{ env: { ...quiet, SVC_SOUTHBOUND_DRIVER: 'container' }, config: radioConfig(air.binary) },
  })
  hill = await makeBox({
    ...{ name: 'hill', place: await boxPlace(2), folder: join(folder, 'hill') },
    env: { ...quiet, SVC_PEERING_ADVERTISE: ROUTE },
  })
  await Promise.all([mast.start(), hill.start()])
  await phonePlace(place)
}, MESH_LIMIT)

lifecycle.after(async () => {
  await Promise.all([mast?.kill(), hill?.kill()])
  air?.close()
  rmSync(folder, { recursive: true, force: true })
})

async function asked(method: string, path: string, body: object): Promise<void> {
  const answer = await mast.ask(method, path, body)
  assert.is(answer.status, 200, `${method} ${path}: ${JSON.stringify(answer.body)}`)
}

async function stateNow(): Promise<string> {
  const { nodes } = (await mast.ask('GET', '/v1/nodes')).body
  return nodes.find(({ node_id: id }: { readonly node_id: string }) => id === mast.nodeId)?.lifecycle
}

async function untilIn(state: string): Promise<void> {
  await eventually(async () => (await stateNow()) === state, WAIT_MS)
}

async function approve(routes: readonly string[]): Promise<void> {
  const peer = (await peersAt(mast)).find(({ node_id: id }) => id === hill.nodeId)
  await asked('POST', `/v1/peers/${peer?.id}/approve`, { routes })
}

lifecycle(
  'of a node on air goes on with its mesh and its routes, and back as they are lost',
  async () => {
    await asked('PUT', '/v1/policy', { ...OPEN, mesh: { allow_route_advertise: true } })
    await asked('POST', '/v1/tx/arm', { arm: true, profile_id: 'mast' })
    await air.isOn()
    await untilIn('on-air')
    await joinMesh(hill, mast)
    await untilIn('peer')
    await together([mast, hill])
    await eventually(
      async () => (await peersAt(mast)).some(({ advertised }) => advertised[0] === ROUTE),
      WAIT_MS,
    )
    await approve([ROUTE])
    await untilIn('breakout')
    const { state, breakout } = (await mast.ask('GET', '/v1/status')).body
    assert.equal(
      [state === 'peered' || state === 'degraded', breakout],
      [true, { mode: 'local', peer_count: 1 }],
    )
    await approve([])
    await untilIn('peer')
    await approve([ROUTE])
    await untilIn('breakout')
    const left = await hill.ask('POST', `/v1/nodes/${hill.nodeId}/leave`)
    assert.equal([left.status, left.body.root_told], [200, true])
    await untilIn('on-air')
    // Nothing of it has touched the radio.
    await air.isOn()
    await asked('POST', '/v1/tx/disarm', {})
    await untilIn('register')
    const { entries } = (await mast.ask('GET', '/v1/audit?action=lifecycle.transition&limit=100')).body
    const moves = entries.map(({ detail }: { readonly detail: { from: string; to: string } }) => detail.to)
    const wanted = ['peer', 'breakout', 'peer', 'breakout', 'peer', 'on-air']
    assert.equal(moves.toReversed().slice(-wanted.length), wanted)
  },
  MESH_LIMIT,
)

lifecycle.run()
