import { Ajv2020 } from 'ajv/dist/2020.js'
import standalone from 'ajv/dist/standalone/index.js'
import { defineConfig, type Options } from 'tsup'
// @boundaries-ignore a build's own script, which no program loads
import { MODULE, oneFile } from '../../scripts/builds/one-file.mjs'
import { PACKAGE_CHECK_OPTIONS } from './src/plugin-packages/package-check.ts'
import PACKAGE_SCHEMA from './src/plugin-packages/package-schema.json' with { type: 'json' }

/** What ajv would load from its own package: the characters of a text, not its UTF-16. */
const LENGTH = 'require("ajv/dist/runtime/ucs2length").default'

/** `src/plugin-packages/package-check.ts` as it is when all its work is done. */
function compiledCheck(): string {
  const ajv = new Ajv2020({ ...PACKAGE_CHECK_OPTIONS, code: { optimize: 1, source: true, esm: true } })
  const code = standalone
    .default(ajv, ajv.compile(PACKAGE_SCHEMA))
    .replaceAll(LENGTH, '((text) => [...text].length)')
  if (code.includes('require('))
    throw new Error('the check of manifests needs more of ajv than is known here')
  return `${code}\nexport function packageCheck() { return validate }\n`
}

const compiled: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'compiled-check',
  setup: (build) => {
    build.onLoad({ filter: /\/src\/plugin-packages\/package-check\.ts$/ }, () => ({
      contents: compiledCheck(),
      loader: 'js',
    }))
  },
}

export default defineConfig({
  entry: ['src/index.ts'],
  ...MODULE,
  noExternal: ['semver', 'prom-client', 'pino'],
  esbuildPlugins: [
    oneFile('semver'),
    oneFile('prom-client', { names: ['Counter', 'Gauge', 'Histogram', 'Registry'] }),
    oneFile('pino', { names: ['pino'] }),
    compiled,
  ],
})
