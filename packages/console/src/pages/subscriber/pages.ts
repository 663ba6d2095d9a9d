import type { Page } from '../../app/pages.ts'

/** One subscriber. */
export const subscriberPages: readonly Page[] = [
  {
    path: '/sims/:hash',
    title: 'sim.title',
    role: 'viewer',
    load: () => import('./subscriber.tsx'),
  },
]
