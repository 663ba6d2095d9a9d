import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { SERVICE_METRICS } from '@steeple/contracts'
import { ROOT } from '../launch.ts'
import { fetchOpenApi } from '../openapi.ts'
import type { Service } from '../service.ts'
import { architecturePicture } from './architecture.ts'
import { errorsPage } from './errors.ts'
import { eventsPage } from './events.ts'
import { metricsPage } from './metrics.ts'
import { partsHere } from './parts.ts'
import { routesPage } from './routes.ts'

// A script of the repository, and of no package.
const { workspaceFolders }: { workspaceFolders(): readonly string[] } = await import(
  `${ROOT}/scripts/workspace.mjs`
)

/** What is made from what a running service and the packages say of themselves, by the names of files from `docs/reference`. */
export async function referencePages(service: Service): Promise<ReadonlyMap<string, string>> {
  const document = await fetchOpenApi(service.url)
  const parts = partsHere()
  const served = await (await fetch(`${service.url}/metrics`)).text()
  return new Map([
    ['routes.md', routesPage(document, parts)],
    ['errors.md', errorsPage(document, parts)],
    ['metrics.md', metricsPage(served, SERVICE_METRICS, parts)],
    ['events.md', eventsPage(document, parts)],
    ['cli.md', commandsPage()],
    ['../explanation/architecture.svg', architecturePicture(workspaceFolders())],
  ])
}

/** From the definitions of the commands, by a script of their package. */
function commandsPage(): string {
  const script = join(ROOT, 'packages/cli/scripts/make-cli-docs.mjs')
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--no-warnings', script, '--print'], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`the commands could not be described: ${stderr}`)
  return stdout
}
