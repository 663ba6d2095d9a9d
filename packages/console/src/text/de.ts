import type { Texts } from './index.ts'

/** All German texts: each area has a file of its own, `<area>.de.ts`, which is found by its name. */
export const de: Texts = Object.assign(
  {},
  ...Object.values(
    import.meta.glob<Readonly<Record<string, Partial<Texts>>>>('./*.de.ts', { eager: true }),
  ).flatMap((area) => Object.values(area)),
)
