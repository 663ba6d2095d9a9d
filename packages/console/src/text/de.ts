import type { Texts } from './index.ts'

/** All German texts: the console's, and what each plugin says of its actions, events and errors. */
export const de: Texts = Object.assign(
  {},
  ...Object.values(import.meta.glob<Texts>('../../../*/texts/de.json', { eager: true, import: 'default' })),
)
