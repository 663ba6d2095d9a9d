import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { renderCore } from '../src/render/render.ts'
import { desiredWith, settingsWith } from './support/desired.ts'
import {
  needRealFunctions,
  ownAddresses,
  type RealFunction,
  startRealFunction,
} from './support/real-functions.ts'
import { type StandInCore, startStandInCore } from './support/stand-in-core.ts'

needRealFunctions()
const real = suite('driver-core-b/real functions of 3.4')

/** TS 29.244 §8.1.1: where PFCP is spoken, and the type of an association setup request in its second octet. */
const PFCP = { port: 8805, associationSetup: 5 } as const
const ADDRESSES = ownAddresses()

/** One function with the files that are rendered for its release, and an NRF. */
async function withFunction(
  name: 'chf' | 'smf',
  work: (around: { readonly core: StandInCore; readonly started: RealFunction }) => Promise<void>,
): Promise<void> {
  await using dir = await tempDir()
  const core = await startStandInCore()
  core.profiles.clear()
  core.behaviour.oauth = false
  const { files } = renderCore(
    desiredWith({ addresses: ADDRESSES }),
    settingsWith({ core_b: { release: '3.4.5', charging: true } }),
  )
  const started = await startRealFunction(name, dir.path, files, core, ADDRESSES)
  try {
    await work({ core, started })
  } finally {
    await started.stop()
    await core.close()
  }
}

real(
  'has the SMF register, and associate with the UPF from where its file says',
  async () => {
    const upf = createSocket('udp4').bind(PFCP.port, ADDRESSES.upf)
    const asked: (readonly [number | undefined, string])[] = []
    upf.on('message', (message, { address }) => asked.push([message[1], address]))
    try {
      await once(upf, 'listening')
      await withFunction('smf', async ({ core, started }) => {
        await eventually(() => {
          assert.equal([...core.profiles.values()], ['SMF'], started.output().slice(-500))
          assert.equal(asked[0], [PFCP.associationSetup, ADDRESSES.smf], started.output().slice(-500))
        })
      })
    } finally {
      upf.close()
    }
  },
  { limitMs: 120_000 },
)

real(
  'has the CHF register',
  () =>
    withFunction('chf', async ({ core, started }) => {
      await eventually(() => assert.equal([...core.profiles.values()], ['CHF'], started.output().slice(-500)))
    }),
  { limitMs: 120_000 },
)

real.run()
