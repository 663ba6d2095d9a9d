import type { Page } from '../../app/pages.ts'

/** What the box sends on, and whether it may. */
export const radioPages: readonly Page[] = [
  {
    path: '/radio',
    title: 'radio.title',
    role: 'viewer',
    group: 'network',
    place: 10,
    load: () => import('./radio.tsx'),
  },
]
