import { readdir } from 'node:fs/promises'
import { coreDriverRef } from '@steeple/contracts'
import {
  assert,
  eventually,
  fakeContext,
  loadTestbed,
  pluginFrom,
  suite,
  type Testbed,
  tempDir,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { attach, imsiOf, patient } from './support/clients.ts'
import { desiredWith } from './support/desired.ts'
import { type StandInCore, startStandInCore } from './support/stand-in-core.ts'

const plugins = suite('driver-core-b/plugin')
const { startTestbed } = await loadTestbed()

async function underKernel(
  choice: 'core_a' | 'core_b',
  work: (bed: Testbed, core: StandInCore, dir: string) => Promise<void>,
): Promise<void> {
  await using root = await tempDir()
  const core = await startStandInCore()
  const bed = await startTestbed({
    plugins: [await pluginFrom(import.meta.url, plugin)],
    settings: {
      core: choice,
      core_b: {
        config_dir: root.path,
        amf_oam_url: core.urls.amf,
        smf_oam_url: core.urls.smf,
        nrf_url: core.urls.nrf,
      },
    },
  })
  try {
    await work(bed, core, root.path)
  } finally {
    await bed.stop()
    await core.close()
  }
}

plugins('serves the core while the configuration chooses it, and leaves nothing at the NRF', () =>
  underKernel('core_b', async (bed, core) => {
    const driver = bed.service(coreDriverRef)
    attach(core, imsiOf(1), 1)
    assert.is((await driver?.ues(patient()))?.length, 1)
    assert.is(await driver?.kick(imsiOf(1), patient()), 'yes')
    assert.ok([...core.profiles.values()].includes('AF'))
    await bed.unload('driver-core-b')
    assert.not.ok([...core.profiles.values()].includes('AF'))
  }),
)

plugins('stays away while the configuration chooses the other core', () =>
  underKernel('core_a', async (bed, core) => {
    assert.is(bed.service(coreDriverRef), undefined)
    assert.equal(core.asked, { amf: [], smf: [], nrf: [] })
  }),
)

plugins('plans what it would write, and writes nothing, while southbound.driver is none', () =>
  underKernel('core_b', async (bed, core, dir) => {
    attach(core, imsiOf(1), 1)
    const driver = bed.service(coreDriverRef)
    const rendered = await driver?.render(desiredWith())
    assert.ok(rendered !== undefined)
    const plan = rendered === undefined ? undefined : await driver?.plan?.(rendered, patient())
    assert.equal([plan?.state, plan?.dir, plan?.files.length], ['changes', dir, 11])
    assert.ok(plan?.files.every(({ change }) => change === 'added'))
    assert.is(plan?.files.find(({ path }) => path === 'uerouting.yaml')?.daemon, 'smf')
    assert.equal(await readdir(dir), [])
  }),
)

plugins('says at once whether AMF and SMF can be asked, and starts without them', async () => {
  const core = await startStandInCore()
  await core.stop('smf')
  const { amf: amf_oam_url, smf: smf_oam_url, nrf: nrf_url } = core.urls
  const settings = { core: 'core_b', core_b: { amf_oam_url, smf_oam_url, nrf_url } } as const
  const fake = fakeContext({ id: 'driver-core-b', config: undefined, settings })
  const instance = await plugin.setup(fake.context)
  await instance.start?.()
  await eventually(async () => {
    const seen = (await instance.health?.()) ?? []
    const of = (name: string) => seen.find((component) => component.name === name)
    assert.equal([of('amf')?.status, of('amf')?.detail], ['ok', 'its OAM service answers'])
    assert.is(of('smf')?.status, 'degraded')
    assert.match(of('smf')?.detail ?? '', /cannot be confirmed: the SMF at .* nobody listens there/)
  })
  await instance.stop?.('shutdown')
  await fake.dispose()
  await core.close()
})

plugins.run()
