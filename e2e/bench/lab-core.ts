import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LabProcess, labPhones, startLabCore } from '../harness/lab-core.ts'
import { runSvc, type Service, startService, until } from '../harness/service.ts'
import { type Finding, median } from './measure.ts'

const SIMS = 20
const LIMIT_MS = 2_000

/** From the request to suspend a SIM whose phone is on, to its session gone from the core and the answer given. */
export async function benchLabCore(): Promise<readonly Finding[]> {
  const folder = mkdtempSync(join(tmpdir(), 'steeple-bench-'))
  const dataDir = join(folder, 'data')
  const lab = await startLabCore(join(folder, 'lab-core'))
  const service = await startService({ dataDir, env: lab.env })
  try {
    const hashes = await phonesOn(service, lab, dataDir)
    const times: number[] = []
    for (const hash of hashes) {
      const startedAt = performance.now()
      const { status, body } = await service.request('POST', `/v1/sims/${hash}/suspend?wait=5s`, {
        body: { reason: 'bench' },
      })
      const [phone] = await labPhones(lab.urls.control, 'GET', `/phones/${hash}`)
      if (status !== 200 || body.detached !== 'yes' || phone?.ipv4 !== null)
        throw new Error(`suspended: ${status} ${body.detached}, the phone has ${phone?.ipv4}`)
      times.push(performance.now() - startedAt)
    }
    const longest = Math.max(...times)
    return [
      {
        name: 'suspend to blocked and kicked, lab core',
        value: median(times),
        unit: 'ms',
        beside: { what: `the longest of ${SIMS}`, value: longest },
        target: `≤ ${LIMIT_MS} ms`,
        isMet: longest <= LIMIT_MS,
      },
    ]
  } finally {
    await service.stop()
    await lab.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Issues SIMs and puts them into phones; their hashes once all are attached and seen. */
async function phonesOn(service: Service, lab: LabProcess, dataDir: string): Promise<readonly string[]> {
  const { body } = await service.request('POST', '/v1/sims', { body: { count: SIMS } })
  const hashes = (body.sims as { imsi_sha256_12: string }[]).map((sim) => sim.imsi_sha256_12)
  const all = async (holds: (sim: { state: string; provisioning: { status: string } }) => boolean) => {
    const list = await service.request('GET', '/v1/sims?limit=100')
    return list.body.sims.every(holds)
  }
  await until(() => all((sim) => sim.provisioning.status === 'synced'))
  const exported = await runSvc(
    ['sim', 'export', body.batch_id, '--data-dir', dataDir, '--format', 'json'],
    lab.env,
  )
  await labPhones(lab.urls.control, 'POST', '/phones', exported.stdout)
  await until(() => all((sim) => sim.state === 'in-use'), 30_000)
  return hashes
}
