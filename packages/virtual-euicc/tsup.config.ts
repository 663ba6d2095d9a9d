import { defineConfig } from 'tsup'

export default defineConfig({
  entry: { index: 'src/index.ts', 'lpac-main': 'src/lpac-main.ts' },
  format: ['esm'],
  target: 'node24',
  sourcemap: true,
  clean: true,
  dts: false,
})
