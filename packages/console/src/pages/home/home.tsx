import { tx } from '../../app/transmitter.tsx'
import { t } from '../../text/index.ts'
import { Happenings } from './happenings.tsx'
import { Machinery } from './machinery.tsx'
import { Needs } from './needs.tsx'
import { People } from './people.tsx'
import { Truth } from './truth.tsx'
import './home.css'

/** The first screen: whether the box is on the air, what needs somebody, who is on, what it is connected to, what happened. */
export function Page() {
  return (
    <>
      <h1>{t('home.title')}</h1>
      <Truth state={tx.value} />
      <Needs />
      <div class="cards">
        <People />
        <Machinery />
      </div>
      <Happenings />
    </>
  )
}
