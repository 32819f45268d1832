use record::CallNode;
use std::collections::BTreeMap;

/// Stacks merged by common callers, with a maximum number of nodes; by default none.
#[derive(Debug, Clone, Default)]
pub struct CallTree {
    nodes: Vec<CallNode>,
    by_node: BTreeMap<CallNode, u32>,
    /// The last callee of each node, which is mostly the next one too; itself: none yet.
    last_callees: Vec<u32>,
    max_nodes: usize,
}

impl CallTree {
    /// An empty tree of at most this many nodes.
    pub fn bounded(nodes: usize) -> Self {
        Self { max_nodes: nodes.min(u32::MAX as usize), ..Self::default() }
    }

    /// The node of a function under its caller's node, if any; none if the tree is full.
    pub fn child(&mut self, caller: Option<u32>, function: u32) -> Option<u32> {
        let node = CallNode::new(caller, function);
        let last = caller.and_then(|caller| self.last_callees.get(caller as usize).copied());
        if let Some(last) = last.filter(|last| self.nodes[*last as usize] == node) {
            return Some(last);
        }
        let place = match self.by_node.get(&node) {
            Some(place) => *place,
            None if self.nodes.len() >= self.max_nodes => return None,
            None => self.add(node),
        };
        if let Some(last) = caller.and_then(|caller| self.last_callees.get_mut(caller as usize)) {
            *last = place;
        }
        Some(place)
    }

    fn add(&mut self, node: CallNode) -> u32 {
        let place = self.nodes.len() as u32;
        self.nodes.push(node);
        self.last_callees.push(place);
        self.by_node.insert(node, place);
        place
    }

    /// Adds a stack from the root; returns the innermost node, or none for an empty stack or a full tree.
    pub fn add_stack(&mut self, functions: impl IntoIterator<Item = u32>) -> Option<u32> {
        let mut at = None;
        for function in functions {
            at = Some(self.child(at, function)?);
        }
        at
    }

    /// All nodes, callers before callees.
    pub fn nodes(&self) -> &[CallNode] {
        &self.nodes
    }

    /// All nodes, for a profile.
    pub fn into_nodes(self) -> Vec<CallNode> {
        self.nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stacks_share_is_there_once() {
        let mut tree = CallTree::bounded(4);
        assert_eq!(tree.add_stack([7, 8]), Some(1));
        assert_eq!(tree.add_stack([7, 8, 8]), Some(2), "it calls itself");
        assert_eq!(tree.add_stack([7, 9]), Some(3));
        assert_eq!(tree.add_stack([7, 8]), Some(1));
        assert_eq!(tree.add_stack([9]), None, "one too many");
        assert_eq!(tree.add_stack([]), None);
        assert_eq!(tree.into_nodes(), [CallNode(0, 7), CallNode(1, 8), CallNode(2, 8), CallNode(1, 9)]);
    }
}
