import { fileURLToPath } from 'node:url'
import { type Plugin, staticRoutes } from '@steeple/contracts'

/** The pages that the build has made, beside the bundle and beside the sources, which tests run. */
const SITE = fileURLToPath(
  new URL(import.meta.url.endsWith('/dist/plugin.js') ? './site' : '../dist/site', import.meta.url),
)

/** The web console: its files, and its first page for every path that a browser asks for and nothing else has. */
export const plugin: Plugin = {
  setup: async () => ({
    routes: staticRoutes({
      folder: SITE,
      prefix: '/console-files',
      summary: 'Files of the console: scripts, styles, pictures',
      description: 'Files with a hash in their name; they may be kept for a year.',
      group: 'This API',
      page: {
        file: 'index.html',
        path: '/',
        summary: 'Open the console',
        description: 'Static HTML. It talks to /v1 alone, with the rights of the person who signs in.',
        everyPage: true,
      },
    }),
  }),
}
