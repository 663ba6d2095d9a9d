import type { Texts } from './index.ts'

/** All English texts: each area has a file of its own, `<area>.en.ts`, which is found by its name. */
export const en: Texts = Object.assign(
  {},
  ...Object.values(
    import.meta.glob<Readonly<Record<string, Partial<Texts>>>>('./*.en.ts', { eager: true }),
  ).flatMap((area) => Object.values(area)),
)
