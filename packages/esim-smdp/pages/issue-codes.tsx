import {
  type AnswerOf,
  api,
  Button,
  Copy,
  choices,
  Dialog,
  EMPTY_ORDER,
  Field,
  FormDialog,
  Notice,
  navigate,
  OnlyHere,
  type Order,
  OrderFields,
  orderBody,
  QrCode,
  type RequestOf,
  Select,
  t,
  useState,
} from '@steeple/console/kit'

type Issued = AnswerOf<'POST', '/v1/esim/issue'>
type Body = NonNullable<RequestOf<'POST', '/v1/esim/issue'>['body']>

const LIVES = ['1d', '7d', '30d', '90d'] as const

/** Whom codes are for; all but new SIMs are given by what led here. */
export interface CodesFor {
  /** A code for each of its SIMs that has none. */
  readonly batch: string
  /** A SIM that is exchanged for an eSIM. */
  readonly replaces: string
  /** A SIM that gets a code. */
  readonly sim?: string
}

/** Gives out activation codes, and shows the first at once. */
export function IssueCodesDialog({ onClose, ...target }: CodesFor & { readonly onClose: () => void }) {
  const [order, setOrder] = useState<Order>(EMPTY_ORDER)
  const [life, setLife] = useState('')
  const [confirmation, setConfirmation] = useState('')
  const [issued, setIssued] = useState<Issued>()
  const isNew = target.batch === '' && target.replaces === '' && target.sim === undefined
  const body: Body = {
    ...targetBody(target),
    ...(isNew ? simBody(order) : {}),
    ...(life === '' ? {} : { expires_in: life }),
    ...(confirmation === '' ? {} : { confirmation_code: confirmation }),
  }
  if (issued !== undefined)
    return (
      <Dialog isOpen title={t('esim.issued', { count: issued.codes?.length ?? 1 })} onClose={onClose}>
        <Done issued={issued} onClose={onClose} />
      </Dialog>
    )
  return (
    <FormDialog
      title={t('esim.issue')}
      confirm={isNew ? t('esim.issue.go', { count: Number(order.count) || 1 }) : t('esim.issue')}
      act={() => api.post('/v1/esim/issue', { body })}
      onDone={setIssued}
      onClose={onClose}
    >
      <Target {...target} />
      {isNew ? <OrderFields order={order} onChange={setOrder} /> : null}
      <div class="pair">
        <Select
          text="esim.life"
          value={life}
          onChange={setLife}
          options={choices('esim.life', LIVES, t('order.life.default'))}
        />
        <Field
          text="esim.confirmation"
          minLength={4}
          maxLength={64}
          pattern="[!-~]+"
          value={confirmation}
          onInput={setConfirmation}
        />
      </div>
    </FormDialog>
  )
}

function Target({ batch, replaces, sim }: CodesFor) {
  if (batch !== '') return <p>{t('esim.issue.batch', { batch })}</p>
  if (replaces !== '') return <Notice tone="warn">{t('esim.issue.replaces', { hash: replaces })}</Notice>
  return sim === undefined ? <p>{t('esim.issue.new')}</p> : <p>{t('esim.issue.sim')}</p>
}

function targetBody({ batch, replaces, sim }: CodesFor): Body {
  if (batch !== '') return { batch_id: batch }
  if (replaces !== '') return { replaces }
  return sim === undefined ? {} : { imsi_sha256_12: sim }
}

/** Of a code `expires_in` is its own life; that of the SIM has another name. */
function simBody(order: Order): Body {
  const { expires_in: life, ...body } = orderBody(order)
  return { ...body, ...(life === undefined ? {} : { sim_expires_in: life }) }
}

function Done({ issued, onClose }: { readonly issued: Issued; readonly onClose: () => void }) {
  const codes = issued.codes ?? [issued]
  const go = (to: string): void => {
    onClose()
    navigate(to)
  }
  const { batch_id: batch } = issued
  return (
    <div class="stack">
      <OnlyHere text={issued.activation_code}>{t('esim.code.here')}</OnlyHere>
      {codes.length === 1 ? (
        <>
          <QrCode text={issued.activation_code} what={t('esim.code.title', { iccid: issued.iccid_last4 })} />
          <p>
            <code>{issued.activation_code}</code> <Copy text={issued.activation_code} />
          </p>
        </>
      ) : null}
      <p class="fine">{t('esim.code.secret')}</p>
      {issued.confirmation_required ? <p>{t('esim.confirmation.tell')}</p> : null}
      {(issued.remaining ?? 0) > 0 ? (
        <Notice tone="warn">{t('esim.issue.remaining', { count: issued.remaining ?? 0 })}</Notice>
      ) : null}
      <div class="actions">
        <Button
          icon="printer"
          onClick={() =>
            go(batch === null ? `/esim/cards?code=${issued.token}` : `/esim/cards?batch=${batch}`)
          }
        >
          {t('esim.cards.print')}
        </Button>
        <Button kind="primary" onClick={onClose}>
          {t('ui.close')}
        </Button>
      </div>
    </div>
  )
}
