import type { Texts } from './index.ts'

/** All English texts: the console's, and what each plugin says of its actions, events and errors. */
export const en: Texts = Object.assign(
  {},
  ...Object.values(import.meta.glob<Texts>('../../../*/texts/en.json', { eager: true, import: 'default' })),
)
