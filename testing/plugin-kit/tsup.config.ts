import { defineConfig } from 'tsup'

export default defineConfig({
  entry: ['src/index.ts', 'src/main.ts'],
  format: ['esm'],
  target: 'node24',
  // What is in no registry is part of it: nothing of this workspace but the two other packages is published.
  noExternal: [/^(?!(esbuild|typescript)$)/],
  // What is bundled in has programs of the older kind in it.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
  },
  removeNodeProtocol: false,
  sourcemap: true,
  clean: true,
  dts: false,
})
