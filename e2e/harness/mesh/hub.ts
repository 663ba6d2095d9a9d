import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { tempDir } from '@steeple/testkit'
import { launch, urlOf } from '../launch.ts'
import { type Hub, type SimulatedBox, simulatedBox } from './simulated-box.ts'

/** A service with TLS, and what it is asked with. */
export interface TlsService extends Hub {
  readonly child: ChildProcess
  /** A file of its keys, PEM. */
  key(name: string): string
}

/** Starts one that ends with the stage. `storeUrl`: of PostgreSQL; SQLite without. */
export async function tlsService(stage: AsyncDisposableStack, storeUrl?: string): Promise<TlsService> {
  const { path: dataDir } = stage.use(await tempDir('steeple-hub-'))
  const token = 'bench-tls-admin-token-0123456789'
  const service = launch(['--first-start', '--data-dir', dataDir, '--listen', '127.0.0.1:0'], {
    env: {
      ...{ SVC_TLS_ENABLED: 'true', SVC_ADMIN_TOKEN: token, SVC_PEERING_MDNS: 'false' },
      ...(storeUrl === undefined ? {} : { SVC_STORE_URL: storeUrl }),
    },
  })
  stage.defer(async () => {
    service.child.kill('SIGTERM')
    await service.exited
  })
  const port = Number(new URL(await urlOf(service)).port)
  const key = (name: string): string => readFileSync(join(dataDir, 'keys', name), 'utf8')
  return { child: service.child, port, token, key, ca: key('mesh-ca.pem') }
}

/** A service and so many members of its mesh, enrolled some at a time. */
export async function fleetOf(
  stage: AsyncDisposableStack,
  count: number,
  storeUrl?: string,
): Promise<{ readonly service: TlsService; readonly boxes: readonly SimulatedBox[] }> {
  const service = await tlsService(stage, storeUrl)
  const boxes: SimulatedBox[] = []
  stage.defer(() => {
    for (const box of boxes) box.end()
  })
  while (boxes.length < count) {
    const some = Math.min(20, count - boxes.length)
    boxes.push(...(await Promise.all(Array.from({ length: some }, () => simulatedBox(service)))))
  }
  return { service, boxes }
}
