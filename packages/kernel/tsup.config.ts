import { defineConfig } from 'tsup'

export default defineConfig({
  // The second is the program of plugins that run in a process of their own.
  entry: { index: 'src/index.ts', 'child-main': 'src/plugins/child-main.ts' },
  format: ['esm'],
  target: 'node24',
  sourcemap: true,
  clean: true,
  dts: false,
})
