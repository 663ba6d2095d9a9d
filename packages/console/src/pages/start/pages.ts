import type { Page } from '../../app/pages.ts'

/** Setting a new box up. */
export const startPages: readonly Page[] = [
  {
    path: '/start',
    title: 'start.title',
    role: 'admin',
    group: 'box',
    place: 50,
    load: () => import('./start.tsx'),
  },
]
