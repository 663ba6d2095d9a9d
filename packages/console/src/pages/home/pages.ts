import type { Page } from '../../app/pages.ts'

/** The first screen. */
export const homePages: readonly Page[] = [
  {
    path: '/',
    title: 'home.title',
    role: 'viewer',
    group: 'now',
    place: 10,
    load: () => import('./home.tsx'),
  },
]
