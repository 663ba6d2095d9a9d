import type { AnswerOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { Panels } from '../../app/plugin-pages.tsx'
import { navigate } from '../../app/router.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Form } from '../../ui/form.tsx'
import { Notice } from '../../ui/notice.tsx'
import { HandoutButton } from './handout.tsx'
import { EMPTY_ORDER, MOST_SIMS, type Order, OrderFields, orderBody } from './order.tsx'

/** More at once may be a slip. */
const MANY_SIMS = 100

type Issued = AnswerOf<'POST', '/v1/sims'>

/** Issues cards: how many, for whom, with what; and says how they get onto cards. */
export function IssueDialog({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const [order, setOrder] = useState<Order>(EMPTY_ORDER)
  const [issued, setIssued] = useState<Issued>()
  const count = Number(order.count) || 1
  const isTooMany = count > MOST_SIMS
  const close = (): void => {
    setIssued(undefined)
    onClose()
  }
  return (
    <Dialog isOpen={isOpen} title={t('sims.issue')} onClose={close}>
      {issued === undefined ? (
        <Form
          submit={isTooMany ? t('sims.issue') : t('sims.issue.go', { count })}
          kind="primary"
          act={() => api.post('/v1/sims', { body: orderBody(order) })}
          onDone={(data) => {
            setIssued(data)
            setOrder(EMPTY_ORDER)
          }}
          onCancel={close}
        >
          <OrderFields order={order} onChange={setOrder} />
          {count > MANY_SIMS && !isTooMany ? (
            <Notice tone="warn">{t('sims.issue.many', { count })}</Notice>
          ) : null}
        </Form>
      ) : (
        <Done issued={issued} onClose={close} />
      )}
    </Dialog>
  )
}

function Done({ issued, onClose }: { readonly issued: Issued; readonly onClose: () => void }) {
  const go = (to: string): void => {
    onClose()
    navigate(to)
  }
  const command = `svc sim export ${issued.batch_id} --format pysim`
  return (
    <div class="stack">
      <p>
        <strong>{t('sims.issued', { count: issued.issued })}</strong>
      </p>
      <p>{t('sims.issued.cards')}</p>
      <details>
        <summary>{t('sims.issued.file')}</summary>
        <p>{t('sims.issued.file.help')}</p>
        <p>
          <code>{command}</code> <Copy text={command} />
        </p>
        <p>
          <a href="/docs/how-to/write-cards.html">{t('app.docs')}</a>
        </p>
      </details>
      <div class="actions">
        <Button onClick={onClose}>{t('ui.close')}</Button>
        <HandoutButton of={{ batch_id: issued.batch_id }} />
        <Panels on="sims.issued" batch={issued.batch_id} onLeave={onClose} />
        <Button kind="primary" onClick={() => go(`/sims?batch_id=${issued.batch_id}`)}>
          {t('sims.issued.show')}
        </Button>
      </div>
    </div>
  )
}
