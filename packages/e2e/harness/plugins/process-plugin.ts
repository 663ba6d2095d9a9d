/** Pieces of the source of a plugin in its own process. */
export interface ProcessParts {
  /** First statements of setup. */
  readonly setup?: string
}

/** Source of a plugin with isolation `process` and the id `apart`: says who it is, what it was given, and takes its time. */
export function processPluginSource({ setup = '' }: ProcessParts = {}): string {
  return `import { setTimeout as sleep } from 'node:timers/promises'

export const plugin = {
  setup: async (context) => {
    ${setup}
    const route = (path, handle) => ({ method: 'GET', path, role: 'viewer', summary: 'x', handle })
    return {
      services: new Map([['apart.word', { word: async () => 'from ' + process.pid }]]),
      routes: [
        route('/v1/apart', async (request) => ({
          body: {
            version: context.plugin.version,
            pid: process.pid,
            environment: { ...process.env },
            arguments: [...process.argv, ...process.execArgv],
            hasDatabase: await (async () => context.db.all('select 1'))().then(() => true, () => false),
            authorization: request.header('authorization') ?? null,
            credentials: Object.keys(request.principal),
          },
        })),
        route('/v1/apart/slow', async () => {
          await sleep(2000)
          return { body: { pid: process.pid } }
        }),
      ],
      health: async () => [{ name: 'apart', kind: 'feature', status: 'ok', detail: 'pid ' + process.pid }],
    }
  },
}
`
}
