//! The sentinels, which know the current master.

use std::{collections::HashMap, sync::Arc, time::Duration};

use redis::{
    FromRedisValue as _, PushInfo, RedisResult, Value, aio::MultiplexedConnection, from_redis_value,
};
use tokio::{sync::Notify, time::timeout};

use super::options::{Address, Options, SENTINEL, connection};

/// Timeout of one query to one sentinel, with connecting.
const QUERY_TIMEOUT: Duration = Duration::from_millis(600);

/// A master and its replicas, as a sentinel reports them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Located {
    pub(super) master: Address,
    /// Replicas that are up and linked to the master.
    pub(super) replicas: Vec<Address>,
}

/// A client of the sentinels, which queries them in turn, beginning with the last that answered.
pub(super) struct Sentinels {
    options: Arc<Options>,
    addresses: Arc<[Address]>,
    current: Option<MultiplexedConnection>,
    turn: usize,
    /// Notified when a master is switched.
    switched: Arc<Notify>,
}

impl Sentinels {
    pub(super) fn new(
        options: Arc<Options>,
        addresses: Arc<[Address]>,
        switched: Arc<Notify>,
    ) -> Self {
        Self { options, addresses, current: None, turn: 0, switched }
    }

    /// Returns the first answer of a sentinel about the master of this name.
    pub(super) async fn locate(&mut self, name: &str) -> RedisResult<Located> {
        let mut last = None;
        for _ in 0..self.addresses.len() {
            match timeout(QUERY_TIMEOUT, self.query_current(name)).await {
                Ok(Ok(located)) => return Ok(located),
                Ok(Err(error)) => last = Some(error),
                Err(_) => {}
            }
            self.current = None;
            self.turn += 1;
        }
        Err(last.unwrap_or_else(|| no_answer("no sentinel answers")))
    }

    async fn query_current(&mut self, name: &str) -> RedisResult<Located> {
        let mut connection = match &self.current {
            Some(connection) => connection.clone(),
            None => self.current.insert(self.dial().await?).clone(),
        };
        let master: Option<(String, u16)> = redis::cmd("SENTINEL")
            .arg("GET-MASTER-ADDR-BY-NAME")
            .arg(name)
            .query_async(&mut connection)
            .await?;
        let Some((host, port)) = master else {
            return Err(no_answer("the sentinels monitor no master of this name"));
        };
        let replicas: Vec<Value> =
            redis::cmd("SENTINEL").arg("REPLICAS").arg(name).query_async(&mut connection).await?;
        let replicas = replicas.into_iter().filter_map(|replica| usable(replica).ok().flatten());
        Ok(Located { master: Address::new(host, port), replicas: replicas.collect() })
    }

    async fn dial(&self) -> RedisResult<MultiplexedConnection> {
        let address = &self.addresses[self.turn % self.addresses.len()];
        let switched = Arc::clone(&self.switched);
        let heard = move |_: PushInfo| -> Result<(), std::convert::Infallible> {
            switched.notify_one();
            Ok(())
        };
        let settings = connection(SENTINEL).set_push_sender(heard);
        let mut connection = self
            .options
            .sentinel(address)?
            .get_multiplexed_async_connection_with_config(&settings)
            .await?;
        connection.subscribe("+switch-master").await?;
        Ok(connection)
    }
}

/// The address of a replica that is up and linked to its master; `None` for another.
fn usable(replica: Value) -> RedisResult<Option<Address>> {
    let fields: HashMap<String, String> = from_redis_value(replica)?;
    let field = |name: &str| fields.get(name).map_or("", String::as_str);
    let is_down =
        field("flags").split(',').any(|flag| flag.ends_with("_down") || flag == "disconnected");
    if is_down || field("master-link-status") != "ok" {
        return Ok(None);
    }
    let port = u16::from_redis_value(Value::SimpleString(field("port").to_owned()))?;
    Ok(Some(Address::new(field("ip"), port)))
}

fn no_answer(why: &'static str) -> redis::RedisError {
    (redis::ErrorKind::Client, why).into()
}
