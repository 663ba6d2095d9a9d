import type { ComponentHealth, Route } from '@steeple/contracts'
import { importFolder } from './folder.ts'
import type { CertParts } from './keep.ts'
import { renewTls } from './renew.ts'
import { certRoutes } from './routes.ts'
import { certificateHealth, countCertificates } from './watch.ts'

const HOUR_MS = 3_600_000
const COUNT_MS = 30_000

/** What the certificates contribute to the plugin. */
export interface Certificates {
  readonly routes: readonly Route[]
  /** Imports the folder, and begins to renew, count and follow other instances. */
  start(): Promise<void>
  health(): ComponentHealth
}

/** Routes, renewal, health and metrics of certificates. */
export function certificates(parts: CertParts): Certificates {
  const { context, certs } = parts
  let refused: number | undefined = 0
  const count = countCertificates(parts)
  // Without the folder everything else works as before: its failure is told, and no start fails for it.
  const lookIntoFolder = async (): Promise<void> => {
    refused = await importFolder(parts).catch((error: unknown) => {
      context.log.error({ err: String(error) }, 'import of esim.certs_dir failed')
      return undefined
    })
  }
  return {
    routes: certRoutes(parts),
    health: certificateHealth(parts, () => refused),
    start: async () => {
      await lookIntoFolder()
      // SIGHUP says that something may have changed; in the folder, as far as this knows.
      context.onSettings(() => void lookIntoFolder())
      context.on(
        'esim_cert.*',
        async () => {
          await certs.reload()
          count()
        },
        'each',
      )
      context.every(HOUR_MS, () => renewTls(parts))
      context.every(COUNT_MS, async () => count(), 'each')
      await renewTls(parts)
      count()
    },
  }
}
