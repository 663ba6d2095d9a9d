import { defineConfig } from 'tsup'

export default defineConfig({
  entry: { index: 'src/index.ts', testing: 'src/testing/index.ts' },
  format: ['esm'],
  target: 'node24',
  sourcemap: true,
  clean: true,
  dts: false,
  // node:sqlite has no name without it.
  removeNodeProtocol: false,
})
