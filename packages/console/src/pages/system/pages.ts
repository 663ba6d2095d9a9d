import type { Page } from '../../app/pages.ts'

/** How the box itself is, and what is asked of it now and then. */
export const systemPages: readonly Page[] = [
  {
    path: '/system',
    title: 'system.title',
    role: 'viewer',
    group: 'care',
    place: 20,
    load: () => import('./system.tsx'),
  },
]
