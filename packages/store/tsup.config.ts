import { defineConfig } from 'tsup'
// @boundaries-ignore a build's own script, which no program loads
import { MODULE, oneFile } from '../../scripts/builds/one-file.mjs'

/** Of the drivers that knex knows only ours can be asked for; the binding is one that cannot be taken into a file. */
const DRIVERS = [
  'better-sqlite3',
  'mariadb/callback',
  'mysql',
  'mysql2',
  'oracledb',
  'pg',
  'pg-query-stream',
  'sqlite3',
  'tedious',
]

export default defineConfig({
  entry: { index: 'src/index.ts', testing: 'src/testing.ts' },
  ...MODULE,
  // node:sqlite has no name without it.
  removeNodeProtocol: false,
  noExternal: ['knex'],
  esbuildPlugins: [oneFile('knex', { external: DRIVERS })],
})
