import type { Page } from '../../app/pages.ts'

/** Who is online, and who was. */
export const sessionsPages: readonly Page[] = [
  {
    path: '/sessions',
    title: 'sessions.title',
    role: 'viewer',
    group: 'people',
    place: 20,
    load: () => import('./sessions.tsx'),
  },
]
